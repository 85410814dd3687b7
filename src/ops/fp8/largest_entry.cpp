// SPDX-License-Identifier: Apache-2.0
// largest_entry(x): the largest |entry|, by which quantize scales x. Created by use_fp8;
// fold_largest_entries lets the op that computes x find it instead, where it can.
#include "ops/largest_entry.h"

#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  return {largest_entry_type()};
}

// One comparison each.
Cost cost(const OpCall& call) { return cost_of(call, call.operand(0).num_elements()); }

ShardingRule sharding(const OpCall& call) { return largest_entry_sharding(call, {0}); }

}  // namespace

const OpDef& largest_entry_def() {
  static const OpDef def{
      .name = "largest_entry",
      .summary = "the largest absolute entry of a tensor",
      .operands = {{"x"}},
      .results = {"largest"},
      .infer_types = infer_types,
      .cost = cost,
      .shrinks = true,
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
