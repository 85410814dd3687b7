// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/optimizer_op.h"

#include "ops/type_rules.h"

namespace tessera {
namespace {

OptimizerOperands operands_of(const OpCall& call) {
  return {.slots = find_optimizer(call.op)->own_slots().size()};
}

std::vector<TensorType> infer_types(const OpCall& call) {
  const OptimizerOperands at = operands_of(call);
  const TensorType& weights = call.operand(0);
  require_float(call, 0);
  for (size_t i = 1; i < at.learning_rate(); ++i) require_same_type(call, 0, i);
  for (size_t i = at.learning_rate(); i < at.shard(); ++i)
    require_type(call, i, scalar(DType::Fp64));
  if (call.operands.size() > at.shard()) require_type(call, at.shard(), scalar(DType::Int32));
  std::vector<TensorType> results(1 + at.slots, weights);
  if (call.attributes.word("copy_dtype") != "none")
    results.push_back(with_dtype(weights, dtype_attribute(call, "copy_dtype", 0)));
  return results;
}

Cost cost(const OpCall& call) {
  return pointwise_cost(call, find_optimizer(call.op)->flops_per_element);
}

// update_parameters cuts flat buffers itself and says which shard it is.
ShardingRule sharding(const OpCall& call) {
  const bool flat =
      call.attributes.integer("decayed") >= 0 || call.operands.size() > operands_of(call).shard();
  return flat ? nothing_split(call) : ShardingRule{};
}

}  // namespace

OpDef optimizer_op(OpKind op, std::string_view summary) {
  const OptimizerDef& row = *find_optimizer(op);
  OpDef def{.name = name(op),
            .summary = summary,
            .operands = {{"weights"}, {"gradient"}},
            .results = {"weights"},
            .infer_types = infer_types,
            .cost = cost,
            .in_place = {{.result = 0, .operand = 0}},
            .sharding = sharding};
  const std::span<const CompanionState> slots = row.own_slots();
  const OptimizerOperands at{.slots = slots.size()};
  for (size_t i = 0; i < slots.size(); ++i) {
    def.operands.push_back({slots[i].name});
    def.results.push_back(slots[i].name);
    def.in_place.push_back({.result = at.slot_result(i), .operand = at.slot(i)});
  }
  for (const char* value : {"learning_rate", "step", "norm_squares"})
    def.operands.push_back({value});
  def.operands.push_back({.name = "shard", .optional = true});
  def.results.push_back("copy");
  if (!row.takes_matrices())
    for (const OptimizerSetting& setting : row.settings)
      def.attributes.push_back({setting.name, setting.fallback});
  const std::vector<AttributeSpec> shared{{"rate_factor", 1.0},     {"weight_decay", 0.0},
                                          {"decayed", int64_t{-1}}, {"clip_norm", 0.0},
                                          {"copy_dtype", "none"},   {"seed", int64_t{0}}};
  def.attributes.insert(def.attributes.end(), shared.begin(), shared.end());
  return def;
}

}  // namespace tessera
