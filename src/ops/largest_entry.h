// SPDX-License-Identifier: Apache-2.0
// Shared by ops that return the largest |entry| of a tensor, by which matmul_fp8 scales it.
#pragma once

#include "ir/op_def.h"

namespace tessera {

// Whatever the tensor's dtype.
inline TensorType largest_entry_type() { return scalar(DType::Fp32); }

// The entry is that of the full tensor. For calls on shards it is that of a rank's own piece, and
// no sum is pending.
inline ShardingRule largest_entry_sharding(const OpCall& call, std::vector<size_t> largest) {
  ShardingRule rule{.whole_results = std::move(largest)};
  for (const TensorType& operand : call.operands)
    for (const Dim& dim : operand.dims) rule.whole.push_back(dim.name);
  rule.expandable = rule.whole;
  return rule;
}

}  // namespace tessera
