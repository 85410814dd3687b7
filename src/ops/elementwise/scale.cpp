// SPDX-License-Identifier: Apache-2.0
// scale(x) = factor * x, with a factor that is known when the step is compiled.
#include "ir/op_list.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  return {call.operand(0)};
}

void gradient(GradientBuilder& g) {
  if (g.needs(0)) g.set(0, g.emit(0, OpKind::scale, {g.result_gradient(0)}, g.attributes())[0]);
}

Cost cost(const OpCall& call) { return pointwise_cost(call, 1); }

}  // namespace

const OpDef& scale_def() {
  static const OpDef def{
      .name = "scale",
      .summary = "x times a constant",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = {{"factor", 1.0}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .passes_pending = true,
  };
  return def;
}

}  // namespace tessera
