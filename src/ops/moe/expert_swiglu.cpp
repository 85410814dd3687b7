// SPDX-License-Identifier: Apache-2.0
// expert_swiglu(h, gate_rows, ends): silu(gate) * up of each row, times the row's gate in the
// mixture. So the experts' results need only be added, and are not kept for the gradient.
#include "ops/moe/expert_swiglu.h"

#include "ir/op_list.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) { return {require_expert_swiglu(call)}; }

void gradient(GradientBuilder& g) {
  if (!g.needs(0) && !g.needs(1)) return;
  const auto results = g.emit(0, OpKind::expert_swiglu_grad,
                              {g.operand(0), g.operand(1), g.result_gradient(0), g.operand(2)});
  g.set(0, results[0]);
  g.set(1, results[1]);
}

Cost cost(const OpCall& call) { return pointwise_cost(call, 5); }

}  // namespace

const OpDef& expert_swiglu_def() {
  static const OpDef def{
      .name = "expert_swiglu",
      .summary = "silu(gate) * up of the experts' rows, times the rows' gates",
      .operands = {{"h"}, {"gate_rows"}, {"ends"}},
      .results = {"a"},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .sharding = expert_swiglu_sharding,
      .reads_own = {2},
  };
  return def;
}

}  // namespace tessera
