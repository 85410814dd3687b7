// SPDX-License-Identifier: Apache-2.0
// Shared type rules of the norms: x is normalised over its innermost dims, which are the gain's.
#pragma once

#include "ops/row_ranges.h"
#include "ops/type_rules.h"

namespace tessera {

// Of x without the dims normalised over: one mean or 1/deviation per row, kept in the accumulator's
// dtype.
inline TensorType statistics_type(const OpCall& call) {
  const TensorType &x = call.operand(0), &gain = call.operand(1);
  require_float(call, 0);
  call.require(gain.dtype == x.dtype && !gain.dims.empty() && ends_with(x.dims, gain.dims),
               "gain {} does not match the innermost dims of x {}", to_string(gain), to_string(x));
  return {accumulator_of(x.dtype), Dims(x.dims.begin(), x.dims.end() - std::ssize(gain.dims))};
}

// `sums` rows of partial sums, as long as the gain, per chunk of rows.
inline int64_t partial_sums_bytes(const OpCall& call, int64_t sums) {
  const TensorType &x = call.operand(0), &gain = call.operand(1);
  const RowChunks chunks(x.num_elements() / gain.num_elements());
  return sums * chunks.count() * gain.num_elements() * size_bytes(accumulator_of(x.dtype));
}

// Statistics are computed over all of the normalised dims.
inline ShardingRule norm_sharding(const OpCall& call) {
  ShardingRule rule;
  for (const Dim& dim : call.operand(1).dims) rule.whole.push_back(dim.name);
  return rule;
}

}  // namespace tessera
