// SPDX-License-Identifier: Apache-2.0
// relu_grad(y, dy): dy where relu's result y is positive, else 0.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  require_same_type(call, 0, 1);
  return {call.operand(0)};
}

Cost cost(const OpCall& call) { return pointwise_cost(call, 1); }

}  // namespace

const OpDef& relu_grad_def() {
  static const OpDef def{
      .name = "relu_grad",
      .summary = "dy where relu's result is positive",
      .operands = {{"y"}, {"dy"}},
      .results = {"dx"},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 1}, {.result = 0, .operand = 0}},
  };
  return def;
}

}  // namespace tessera
