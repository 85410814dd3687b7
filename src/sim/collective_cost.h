// SPDX-License-Identifier: Apache-2.0
// How long a collective takes over a group of ranks: by the cluster's measured table, or else from
// latency and bandwidth of the levels that the group spans, by ring, tree or hierarchy.
#pragma once

#include "sim/cluster.h"
#include "sim/group_shape.h"

namespace tessera {

// `bytes` is a rank's largest buffer.
double collective_seconds(const Cluster& cluster, CollectiveOp op, const GroupShape& shape,
                          double bytes);

// How many copies of a token are sent to its experts. Ours: one for each expert. Others' (DeepEP,
// HybridEP): one to each node, where it is passed on once to each rank that has some of them.
enum class RowCopies : uint8_t { PerExpert, PerNode };
struct RowTraffic {
  RowCopies copies = RowCopies::PerExpert;
  int64_t experts = 1, top_k = 1;
};
// Of put_rows or take_rows; `bytes` are those of all tokens' rows, one for each expert.
double row_seconds(const Cluster& cluster, CollectiveOp op, const GroupShape& shape, double bytes,
                   const RowTraffic& traffic);
// Of `units` that share experts evenly, how many a token needs on average.
double expected_units(const RowTraffic& traffic, double units);

// Of a rank that sends to one other, at the level's send_bandwidth.
double send_seconds(const Cluster& cluster, const GroupShape& shape, double bytes);

// One algorithm; infinite if it does not support the op.
double collective_seconds(const Cluster& cluster, CollectiveAlgorithm algorithm, CollectiveOp op,
                          const GroupShape& shape, double bytes);

}  // namespace tessera
