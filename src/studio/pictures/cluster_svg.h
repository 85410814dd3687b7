// SPDX-License-Identifier: Apache-2.0
// The picture of a cluster: a row for each level with its units and how they are wired.
#pragma once

#include <string>

#include "sim/cluster.h"

namespace tessera {

std::string cluster_svg(const Cluster& cluster);

}  // namespace tessera
