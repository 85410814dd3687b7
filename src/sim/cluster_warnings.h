// SPDX-License-Identifier: Apache-2.0
// What is allowed in a cluster file or of a mesh on it, and is most often a mistake.
#pragma once

#include <string>
#include <vector>

#include "mesh/mesh.h"
#include "sim/cluster.h"

namespace tessera {

// Figures that no machine has, as when 448 stands for 448 GB/s.
std::vector<std::string> unlikely_figures(const Cluster& cluster);

// Tensor parallelism whose sums leave the innermost level: one text, or none.
std::vector<std::string> near_axes_across_nodes(const Cluster& cluster, const Mesh& mesh);

}  // namespace tessera
