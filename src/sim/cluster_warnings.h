// SPDX-License-Identifier: Apache-2.0
// Warnings about a cluster file, or a mesh on it, for what is allowed but most likely a mistake.
#pragma once

#include <string>
#include <vector>

#include "mesh/mesh.h"
#include "mesh/plan.h"
#include "sim/cluster.h"

namespace tessera {

// Figures that no machine has, such as 448 for 448 GB/s.
std::vector<std::string> unlikely_figures(const Cluster& cluster);

// Tensor parallelism whose sums leave the innermost level: one warning each.
std::vector<std::string> near_axes_across_nodes(const Cluster& cluster, const Mesh& mesh);

// Experts that are split over ranks beyond the innermost level, whose rows of tokens leave it.
std::vector<std::string> experts_across_nodes(const Cluster& cluster, const Plan& plan);

}  // namespace tessera
