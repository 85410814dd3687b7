// SPDX-License-Identifier: Apache-2.0
// accumulate(x): a copy, optionally in another dtype, that can also add into its result.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  return {with_dtype(call.operand(0), dtype_attribute(call, "dtype", 0))};
}

void gradient(GradientBuilder& g) {
  if (g.needs(0)) pass_gradient(g, 0);
}

Cost cost(const OpCall& call) { return cost_of(call, 0); }

}  // namespace

const OpDef& accumulate_def() {
  static const OpDef def{
      .name = "accumulate",
      .summary = "a copy that can add into its result",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = {{"dtype", "same"}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .accumulates = {0},
      .passes_pending = true,
  };
  return def;
}

}  // namespace tessera
