// SPDX-License-Identifier: Apache-2.0
// order_routes(chosen, shard): each choice's row (`place`) in the experts' pool, which is sorted by
// expert, token and choice, -1 without a row; `source` is the inverse. With `shard`, the pool is
// that of experts [shard * experts, (shard + 1) * experts). A pool that is too small takes the
// first rows; `needed`, if asked for, are the ends that a large enough one would have.
#include "ir/op_list.h"
#include "ops/moe/pool.h"
#include "ops/row_ranges.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType& chosen = call.operand(0);
  const int64_t experts = call.attributes.integer("experts"),
                slots = call.attributes.integer("slots");
  call.require(chosen.dtype == DType::Int32 && !chosen.dims.empty(),
               "chosen must be int32 with a dim of choices, is {}", to_string(chosen));
  call.require(experts >= 1 && slots >= 1, "experts = {} and slots = {} must be positive", experts,
               slots);
  call.require(!chosen.has("expert") && !chosen.has("slot"), "chosen {} has a dim of the pool",
               to_string(chosen));
  if (call.operands.size() > 1) require_type(call, 1, scalar(DType::Int32));
  const Dim expert{"expert", experts}, slot{"slot", slots};
  std::vector<TensorType> results{chosen, {DType::Int32, {expert, slot}}, {DType::Int32, {expert}}};
  if (call.attributes.integer("needed") != 0) results.push_back(results.back());
  return results;
}

Cost cost(const OpCall& call) { return cost_of(call, 2 * call.operand(0).num_elements()); }

// The number of choices of each expert, by chunk of tokens.
int64_t workspace_bytes(const OpCall& call, const DeviceProfile&) {
  return RowChunks(call.operand(0).num_elements()).count() * call.attributes.integer("experts") *
         static_cast<int64_t>(sizeof(int32_t));
}

// Experts may be split, once: each rank finds the choices of its own.
ShardingRule sharding(const OpCall& call) {
  ShardingRule rule{.free = true};
  if (call.operands.size() == 1) rule.expandable = {"expert"};
  return rule;
}

std::vector<ValueId> expand(ExpansionBuilder& b) {
  return b.emit(OpKind::order_routes, {b.operand(0), b.index()}, b.attributes());
}

}  // namespace

const OpDef& order_routes_def() {
  static const OpDef def{
      .name = "order_routes",
      .summary = "sorts the tokens' choices by expert: their rows in the experts' pool",
      .operands = {{"chosen"}, {"shard", true}},
      .results = {"place", "source", "ends", "needed"},
      .attributes = {{"experts", int64_t{1}, "expert"},
                     {"slots", int64_t{1}, "slot"},
                     {"needed", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .sharding = sharding,
      .expand = expand,
  };
  return def;
}

}  // namespace tessera
