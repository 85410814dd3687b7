// SPDX-License-Identifier: Apache-2.0
// gelu_grad(x, dy): dy times the slope of gelu at x.
#include "ops/elementwise/gelu.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  require_same_type(call, 0, 1);
  gelu_uses_tanh(call);
  return {call.operand(0)};
}

Cost cost(const OpCall& call) { return pointwise_cost(call, gelu_uses_tanh(call) ? 17 : 11); }

}  // namespace

const OpDef& gelu_grad_def() {
  static const OpDef def{
      .name = "gelu_grad",
      .summary = "dy times the slope of gelu at x",
      .operands = {{"x"}, {"dy"}},
      .results = {"dx"},
      .attributes = {{"approximation", "none"}},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 1}},
  };
  return def;
}

}  // namespace tessera
