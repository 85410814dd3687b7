// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_option.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/choices.h"
#include "studio/run_on_cluster.h"

namespace tessera {

void add_cluster_option(Command command, std::string& cluster) {
  command
      .add_option(
          "--cluster", cluster,
          fmt::format(
              "{}, or a file; default: laptop, for up to as many ranks as this machine has cores",
              join_choices(cluster_names())))
      .type_name("NAME|FILE");
}

void default_to_precision_of(const Cluster& cluster, RunOptions& run) {
  for (auto& setting : defaults_on(cluster)) run.defaults.push_back(std::move(setting));
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
