// SPDX-License-Identifier: Apache-2.0
// add(x, y): the sum of two values of one type; a residual connection.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  require_same_type(call, 0, 1);
  return {call.operand(0)};
}

void gradient(GradientBuilder& g) {
  for (const size_t i : {0, 1})
    if (g.needs(i)) pass_gradient(g, i);
}

Cost cost(const OpCall& call) { return pointwise_cost(call, 1); }

}  // namespace

const OpDef& add_def() {
  static const OpDef def{
      .name = "add",
      .summary = "x + y",
      .operands = {{"x"}, {"y"}},
      .results = {"sum"},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}, {.result = 0, .operand = 1}},
      .accumulates = {0},
      .passes_pending = true,
  };
  return def;
}

}  // namespace tessera
