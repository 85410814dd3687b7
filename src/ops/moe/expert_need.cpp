// SPDX-License-Identifier: Apache-2.0
// expert_need(needed, source): the rows that tokens need of a pool, as a share of those that it
// has; 0 without a pool. Of `source` the type is read alone, and of that the number of rows. Where
// it accumulates it keeps the largest, of layers and microbatches.
#include "ops/moe/pool.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  if (!call.operands.empty()) {
    call.require(call.operands.size() == 2 && call.operand(1).dims.size() == 2,
                 "needed has no source of experts and slots beside it");
    call.require(call.operand(0).dtype == DType::Int32 && call.operand(0).dims.size() == 1,
                 "needed must be int32 of experts, is {}", to_string(call.operand(0)));
  }
  return {scalar(DType::Fp64)};
}

Cost cost(const OpCall& call) { return cost_of(call, 1); }

// Of a rank's own pool.
ShardingRule sharding(const OpCall& call) {
  ShardingRule rule;
  if (!call.operands.empty())
    for (const Dim& dim : call.operand(1).dims) rule.whole.push_back(dim.name);
  return rule;
}

}  // namespace

const OpDef& expert_need_def() {
  static const OpDef def{
      .name = "expert_need",
      .summary = "how much of the room of an expert pool tokens need",
      .operands = {{.name = "needed", .optional = true}, {.name = "source", .optional = true}},
      .results = {"need"},
      .infer_types = infer_types,
      .cost = cost,
      .accumulates = {0},
      .accumulates_largest = true,
      .sharding = sharding,
      .reads_own = {0},
  };
  return def;
}

}  // namespace tessera
