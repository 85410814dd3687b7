// SPDX-License-Identifier: Apache-2.0
// How long a step takes on a cluster, and what memory it needs, without running it.
#pragma once

#include <string>

#include "sim/cluster.h"
#include "studio/simulated_step.h"

namespace tessera {

// `cluster`: a name that `tessera clusters` lists, or the path of a file; empty: this machine, as
// the cluster `laptop`.
SimulatedStep simulate(const Config& config, const std::string& cluster = "");

}  // namespace tessera
