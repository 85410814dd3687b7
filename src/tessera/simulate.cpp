// SPDX-License-Identifier: Apache-2.0
#include "tessera/simulate.h"

#include "studio/run_on_cluster.h"

namespace tessera {

SimulatedStep simulate(const Config& config, const std::string& cluster) {
  const Cluster chosen = chosen_cluster(cluster, Mesh(config.mesh).num_ranks());
  return simulate_step(config, chosen, spec_to_simulate(chosen, config), {});
}

}  // namespace tessera
