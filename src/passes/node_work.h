// SPDX-License-Identifier: Apache-2.0
// The cost of a node by its op's own rule, and as one number.
#pragma once

#include "core/device_kind.h"
#include "ir/emit.h"

namespace tessera {

inline Cost node_cost(const Graph& graph, const Node& node) {
  const std::vector<TensorType> operands = types_of(graph, node.operands),
                                results = types_of(graph, node.results);
  return op_def(node.op).cost(
      {.op = node.op, .attributes = node.attributes, .operands = operands, .results = results});
}

// In flops, with bytes converted to flops.
inline double work_of(const Cost& cost, const DeviceProfile& profile) {
  return static_cast<double>(cost.flops) + profile.flops_per_byte * static_cast<double>(cost.bytes);
}

}  // namespace tessera
