// SPDX-License-Identifier: Apache-2.0
// expert_swiglu_grad(h, gate_rows, da, ends): the gradients of h and of the rows' gates; with
// again = 1 also the result of expert_swiglu, so that it need not be kept.
#include "ops/moe/expert_swiglu.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType a = require_expert_swiglu(call);
  require_type(call, 2, a);
  if (!call.attributes.integer("again")) return {call.operand(0), call.operand(1)};
  return {call.operand(0), call.operand(1), a};
}

Cost cost(const OpCall& call) {
  const int64_t again = call.attributes.integer("again") ? 1 : 0;
  return cost_of(call, (13 + again) * call.operand(2).num_elements());
}

}  // namespace

const OpDef& expert_swiglu_grad_def() {
  static const OpDef def{
      .name = "expert_swiglu_grad",
      .summary = "gradients of the experts' gates and ups, and of the rows' gates",
      .operands = {{"h"}, {"gate_rows"}, {"da"}, {"ends"}},
      .results = {"dh", "d_gate_rows", "a"},
      .attributes = {{"again", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = expert_swiglu_sharding,
      .reads_own = {3},
  };
  return def;
}

}  // namespace tessera
