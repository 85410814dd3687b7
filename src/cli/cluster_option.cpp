// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_option.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/choices.h"
#include "core/error.h"

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

Cluster chosen_cluster(const std::string& named, int ranks) {
  if (!named.empty()) return load_cluster(named);
  if (ranks <= resolve_threads({})) return load_cluster("laptop");
  throw user_error("{} ranks are more than this machine has cores, and no cluster is named", ranks)
      .at("--cluster")
      .help(fmt::format("use {}, or the path of a cluster file", join_choices(cluster_names())));
}

void default_to_precision_of(const Cluster& cluster, RunOptions& run) {
  if (cluster.device.cores == 0) run.defaults.emplace_back("train.precision", "bf16");
}

RunSpec resolve_on(const Cluster& cluster, const Config& config) {
  RunSpec spec = resolve(config);
  const int cores = cluster.device.cores;
  spec.device = cores > 0 ? DeviceKind::Cpu : DeviceKind::Cuda;
  if (config.train.threads == 0) spec.threads = cores;
  return spec;
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
