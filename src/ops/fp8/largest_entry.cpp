// SPDX-License-Identifier: Apache-2.0
// largest_entry(x): the largest |entry|, by which quantize scales x. Created by use_fp8;
// fold_largest_entries lets the op that computes x find it instead, where it can.
#include "ops/largest_entry.h"

#include "ops/moe/pool.h"
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

// largest_pool_entry(x, ends): the largest |entry| of the rows that there are in a pool.
namespace {

std::vector<TensorType> infer_pool_types(const OpCall& call) {
  require_pool(call, 0);
  require_ends(call, 1, 0);
  return {largest_entry_type()};
}

}  // namespace

const OpDef& largest_pool_entry_def() {
  static const OpDef def{
      .name = "largest_pool_entry",
      .summary = "the largest absolute entry of the rows of experts",
      .operands = {{"x"}, {"ends"}},
      .results = {"largest"},
      .infer_types = infer_pool_types,
      .cost = cost,
      .shrinks = true,
      .sharding = sharding,
      .reads_own = {1},
  };
  return def;
}

}  // namespace tessera
