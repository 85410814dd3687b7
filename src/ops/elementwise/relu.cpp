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

}  // namespace tessera
