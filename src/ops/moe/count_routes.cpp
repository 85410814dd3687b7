// SPDX-License-Identifier: Apache-2.0
// count_routes(chosen): how often each expert is chosen; with by = batch, in each row of the batch.
// Integers, so that sums over ranks and microbatches are exact.
#include "ops/moe/pool.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType& chosen = call.operand(0);
  const std::string& by = call.attributes.word("by");
  const int64_t experts = call.attributes.integer("experts");
  call.require(chosen.dtype == DType::Int32 && !chosen.dims.empty(),
               "chosen must be int32 with a dim of choices, is {}", to_string(chosen));
  call.require(experts >= 1, "experts = {} is not positive", experts);
  call.require(!chosen.has("choice"), "chosen {} has a dim named choice", to_string(chosen));
  call.require(by == "all" || by == chosen.dims[0].name,
               "by = {} is neither all nor the outermost dim of chosen {}", by, to_string(chosen));
  TensorType counts{DType::Int32, {}};
  if (by != "all") counts.dims.push_back(chosen.dims[0]);
  counts.dims.push_back({"choice", experts});
  return {counts};
}

Cost cost(const OpCall& call) { return cost_of(call, call.operand(0).num_elements()); }

ShardingRule sharding(const OpCall&) { return {.whole = {"choice"}}; }

}  // namespace

const OpDef& count_routes_def() {
  static const OpDef def{
      .name = "count_routes",
      .summary = "how many tokens chose each expert",
      .operands = {{"chosen"}},
      .results = {"counts"},
      .attributes = {{"experts", int64_t{1}}, {"by", "all"}},
      .infer_types = infer_types,
      .cost = cost,
      .accumulates = {0},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
