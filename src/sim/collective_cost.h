// SPDX-License-Identifier: Apache-2.0
// How long a collective takes over a group of ranks: by the cluster's measured table, or else from
// latency and bandwidth of the levels that the group spans, by ring, tree or hierarchy.
#pragma once

#include <span>
#include <vector>

#include "mesh/mesh.h"
#include "sim/cluster.h"

namespace tessera {

// By level, from the innermost up to the one that holds all of the group: the most members that one
// unit of the level holds. Ranks ascend.
using GroupShape = std::vector<int>;
GroupShape group_shape(const Cluster& cluster, std::span<const int> ranks);

// The distinct shapes of a mesh's groups along `axes`.
std::vector<GroupShape> group_shapes(const Cluster& cluster, const Mesh& mesh, const AxisIds& axes);

// `bytes` is a rank's largest buffer.
double collective_seconds(const Cluster& cluster, CollectiveOp op, const GroupShape& shape,
                          double bytes);

// One algorithm; infinite if it does not support the op.
double collective_seconds(const Cluster& cluster, CollectiveAlgorithm algorithm, CollectiveOp op,
                          const GroupShape& shape, double bytes);

}  // namespace tessera
