// SPDX-License-Identifier: Apache-2.0
// expert_swiglu(h, gate_rows, ends): silu(gate) * up of each row, times the row's gate in the
// mixture. So the experts' results need only be added, and are not kept for the gradient.
#include "ir/op_list.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

// Checks h [expert, slot, gate_up=2, ...] and gate_rows, a gate for each row, operands 0 and 1, and
// ends, the last; gives the type of the result.
TensorType require_expert_swiglu(const OpCall& call) {
  const TensorType& h = call.operand(0);
  require_pool(call, 0);
  call.require(h.dims.size() >= 4 && h.dims[2] == Dim{"gate_up", 2},
               "h {} lacks gate_up=2 just inside the pool's dims", to_string(h));
  require_type(call, 1, {accumulator_of(h.dtype), {h.dims[0], h.dims[1]}});
  require_ends(call, call.operands.size() - 1, 0);
  TensorType a = h;
  a.dims.erase(a.dims.begin() + 2);
  return a;
}

// Gate and value must be on one rank.
ShardingRule expert_swiglu_sharding(const OpCall&) { return {.whole = {"gate_up"}}; }

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

// expert_swiglu_grad(h, gate_rows, da, ends): the gradients of h and of the rows' gates; with
// again = 1 also the result of expert_swiglu, so that it need not be kept.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  const TensorType a = require_expert_swiglu(call);
  require_type(call, 2, a);
  if (!call.attributes.integer("again")) return {call.operand(0), call.operand(1)};
  return {call.operand(0), call.operand(1), a};
}

Cost grad_cost(const OpCall& call) {
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
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = expert_swiglu_sharding,
      .reads_own = {3},
  };
  return def;
}

}  // namespace tessera
