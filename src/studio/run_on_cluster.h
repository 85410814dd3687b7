// SPDX-License-Identifier: Apache-2.0
// The step of a config on a cluster, and the settings that a cluster gives where the config has
// none.
#pragma once

#include <string>
#include <vector>

#include "config/run_spec.h"
#include "sim/cluster.h"

namespace tessera {

// The named cluster. Without a name: laptop, for up to as many ranks as this machine has cores;
// more ranks are a UserError that lists the clusters.
Cluster chosen_cluster(const std::string& named, int ranks);

// "train.precision=bf16" on clusters of GPUs, where no config file says otherwise.
std::vector<std::pair<std::string, std::string>> defaults_on(const Cluster& cluster);

// The cluster decides the device, and the threads where the config does not.
RunSpec resolve_on(const Cluster& cluster, const Config& config);

// What is allowed on this cluster, but most likely a mistake.
std::vector<std::string> warnings_on(const Cluster& cluster, const RunSpec& spec,
                                     const Config& config);

}  // namespace tessera
