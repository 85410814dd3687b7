// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_option.h"

#include <fmt/format.h>

#include <cstdio>

#include "studio/cluster_json.h"
#include "studio/run_on_cluster.h"

namespace tessera {

void add_cluster_option(Command command, std::string& cluster) {
  command
      .add_option(
          "--cluster", cluster,
          "a name that `tessera clusters` lists, or a file; default: laptop, for up to as many "
          "ranks as this machine has cores")
      .type_name("NAME|FILE");
}

void default_to_precision_of(const Cluster& cluster, RunOptions& run) {
  for (auto& setting : defaults_on(cluster)) run.defaults.push_back(std::move(setting));
}

void print_trust(const Cluster& cluster) {
  const SourceCounts sources = count_sources(cluster);
  if (!cluster.calibrated)
    fmt::print(
        "cluster {} was never calibrated: of its figures {} are published, {} assumed, {} "
        "measured\n",
        cluster.name, sources.published, sources.assumed, sources.measured);
}

void print_unknowns(const std::vector<Unknown>& unknowns) {
  for (const Unknown& each : unknowns) fmt::print("{}\n", each.text);
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
}

std::string share_text(double share) {
  constexpr double kLeastShown = 0.0005;
  return share > 0 && share < kLeastShown ? fmt::format("{:.2g}", share)
                                          : fmt::format("{:.3f}", share);
}

}  // namespace tessera
