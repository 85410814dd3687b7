// SPDX-License-Identifier: Apache-2.0
// The efficiencies of a device that was never measured: those of a cluster that was, or was thought
// about more, with its products scaled by what is known of both.
#pragma once

#include <string>

#include "sim/cluster.h"

namespace tessera {

// Adds the tables of the built-in cluster `name` for ops that `cluster` has none for.
void add_efficiencies_of(Cluster& cluster, const std::string& name, const Figure& products);

}  // namespace tessera
