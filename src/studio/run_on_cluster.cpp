// SPDX-License-Identifier: Apache-2.0
#include "studio/run_on_cluster.h"

#include "core/error.h"
#include "sim/cluster_warnings.h"

namespace tessera {

Cluster chosen_cluster(const std::string& named, int ranks) {
  if (!named.empty()) return load_cluster(named);
  if (ranks <= resolve_threads({})) return load_cluster("laptop");
  throw user_error("{} ranks are more than this machine has cores, and no cluster is named", ranks)
      .at("--cluster")
      .help(cluster_choices() + ", or give the path of a cluster file");
}

std::vector<std::pair<std::string, std::string>> defaults_on(const Cluster& cluster) {
  if (cluster.device.cores > 0) return {};
  return {{"train.precision", "bf16"}};
}

RunSpec resolve_on(const Cluster& cluster, const Config& config) {
  const int cores = cluster.device.cores;
  Config there = config;
  there.run.device = cores > 0 ? DeviceKind::Cpu : DeviceKind::Cuda;
  RunSpec spec = resolve(there);
  if (config.train.threads == 0) spec.threads = cores;
  return spec;
}

std::vector<std::string> warnings_on(const Cluster& cluster, const RunSpec& spec,
                                     const Config& config) {
  std::vector<std::string> warnings = unlikely_figures(cluster);
  const auto add = [&](const std::vector<std::string>& more) {
    warnings.insert(warnings.end(), more.begin(), more.end());
  };
  // A mesh that the cluster is too small for is refused by the simulator.
  if (spec.plan.mesh.num_ranks() > cluster.levels.back().ranks) return warnings;
  add(near_axes_across_nodes(cluster, Mesh(config.mesh)));
  if (spec.model.experts > 0) add(experts_across_nodes(cluster, spec.plan));
  return warnings;
}

}  // namespace tessera
