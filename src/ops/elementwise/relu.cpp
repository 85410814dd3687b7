// SPDX-License-Identifier: Apache-2.0
// relu(x) = max(x, 0).
#include "ir/op_list.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  return {call.operand(0)};
}

// Reads only y, so x need not be kept for the backward.
void gradient(GradientBuilder& g) {
  if (g.needs(0)) g.set(0, g.emit(0, OpKind::relu_grad, {g.result(0), g.result_gradient(0)})[0]);
}

Cost cost(const OpCall& call) { return pointwise_cost(call, 1); }

}  // namespace

const OpDef& relu_def() {
  static const OpDef def{
      .name = "relu",
      .summary = "max(x, 0)",
      .operands = {{"x"}},
      .results = {"y"},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
  };
  return def;
}

// relu_grad(y, dy): dy where relu's result y is positive, else 0.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  require_float(call, 0);
  require_same_type(call, 0, 1);
  return {call.operand(0)};
}

Cost grad_cost(const OpCall& call) { return pointwise_cost(call, 1); }

}  // namespace

const OpDef& relu_grad_def() {
  static const OpDef def{
      .name = "relu_grad",
      .summary = "dy where relu's result is positive",
      .operands = {{"y"}, {"dy"}},
      .results = {"dx"},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .in_place = {{.result = 0, .operand = 1}, {.result = 0, .operand = 0}},
  };
  return def;
}

}  // namespace tessera
