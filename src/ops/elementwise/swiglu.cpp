// SPDX-License-Identifier: Apache-2.0
// swiglu(h): silu(gate) * up, where h [..., gate_up=2, mlp] holds both, as one fused matmul yields
// them; with largest = 1 also the largest |y| (use_fp8).
#include "ir/op_list.h"
#include "ops/largest_entry.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  TensorType type = call.operand(0);
  require_float(call, 0);
  call.require(type.dims.size() >= 2 && type.dims[type.dims.size() - 2] == Dim{"gate_up", 2},
               "h {} lacks gate_up=2 just outside its innermost dim", to_string(type));
  type.dims.erase(type.dims.end() - 2);
  if (!call.attributes.integer("largest")) return {type};
  return {type, largest_entry_type()};
}

void gradient(GradientBuilder& g) {
  if (g.needs(0)) g.set(0, g.emit(0, OpKind::swiglu_grad, {g.operand(0), g.result_gradient(0)})[0]);
}

Cost cost(const OpCall& call) { return pointwise_cost(call, 4); }

// Gate and value must be on one rank.
ShardingRule sharding(const OpCall& call) {
  if (call.attributes.integer("largest")) return largest_entry_sharding(call, {1});
  const Dims& dims = call.operand(0).dims;
  return {.whole = {dims[dims.size() - 2].name}};
}

}  // namespace

const OpDef& swiglu_def() {
  static const OpDef def{
      .name = "swiglu",
      .summary = "silu(gate) * up of the two halves along gate_up",
      .operands = {{"h"}},
      .results = {"y", "largest"},
      .attributes = {{"largest", int64_t{0}}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
  };
  return def;
}

// swiglu_grad(h, dy): the gradient of gate and up, laid out as in h; with value = 1 also swiglu(h)
// (join_rebuilt_swiglu), with largest = 1 also the largest |dh| (use_fp8).
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  const TensorType& h = call.operand(0);
  require_float(call, 0);
  call.require(h.dims.size() >= 2 && h.dims[h.dims.size() - 2] == Dim{"gate_up", 2},
               "h {} lacks gate_up=2 just outside its innermost dim", to_string(h));
  TensorType y = h;
  y.dims.erase(y.dims.end() - 2);
  require_type(call, 1, y);
  std::vector<TensorType> results{h};
  if (call.attributes.integer("value")) results.push_back(y);
  if (call.attributes.integer("largest")) results.push_back(largest_entry_type());
  return results;
}

Cost grad_cost(const OpCall& call) {
  return cost_of(call, (10 + call.attributes.integer("value")) * call.operand(1).num_elements());
}

// Gate and value must be on one rank.
ShardingRule grad_sharding(const OpCall& call) {
  if (call.attributes.integer("largest")) return largest_entry_sharding(call, {1});
  const Dims& dims = call.operand(0).dims;
  return {.whole = {dims[dims.size() - 2].name}};
}

}  // namespace

const OpDef& swiglu_grad_def() {
  static const OpDef def{
      .name = "swiglu_grad",
      .summary = "gradient of gate and up",
      .operands = {{"h"}, {"dy"}},
      .results = {"dh", "y", "largest"},
      .attributes = {{"largest", int64_t{0}}, {"value", int64_t{0}}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .in_place = {{.result = 0, .operand = 0}, {.result = 1, .operand = 1}},
      .sharding = grad_sharding,
  };
  return def;
}

}  // namespace tessera
