// SPDX-License-Identifier: Apache-2.0
// gelu(x) = x * Phi(x), Phi the normal distribution; exact, or by tanh as GPT-2 has it.
#include "ir/op_list.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

// Flops count each + - * / and each exp, tanh and erf once.
bool gelu_uses_tanh(const OpCall& call) {
  const std::string& word = call.attributes.word("approximation");
  call.require(word == "none" || word == "tanh", "approximation = {} is not one of none, tanh",
               word);
  return word == "tanh";
}

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  gelu_uses_tanh(call);
  return {call.operand(0)};
}

void gradient(GradientBuilder& g) {
  if (g.needs(0))
    g.set(0, g.emit(0, OpKind::gelu_grad, {g.operand(0), g.result_gradient(0)}, g.attributes())[0]);
}

Cost cost(const OpCall& call) { return pointwise_cost(call, gelu_uses_tanh(call) ? 9 : 5); }

}  // namespace

const OpDef& gelu_def() {
  static const OpDef def{
      .name = "gelu",
      .summary = "x times the cumulative normal distribution of x",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = {{"approximation", "none"}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
  };
  return def;
}

// gelu_grad(x, dy): dy times the slope of gelu at x.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  require_float(call, 0);
  require_same_type(call, 0, 1);
  gelu_uses_tanh(call);
  return {call.operand(0)};
}

Cost grad_cost(const OpCall& call) { return pointwise_cost(call, gelu_uses_tanh(call) ? 17 : 11); }

}  // namespace

const OpDef& gelu_grad_def() {
  static const OpDef def{
      .name = "gelu_grad",
      .summary = "dy times the slope of gelu at x",
      .operands = {{"x"}, {"dy"}},
      .results = {"dx"},
      .attributes = {{"approximation", "none"}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .in_place = {{.result = 0, .operand = 1}},
  };
  return def;
}

}  // namespace tessera
