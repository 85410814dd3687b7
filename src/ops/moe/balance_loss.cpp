// SPDX-License-Identifier: Apache-2.0
// balance_loss(logits, counts, label_count): coefficient / label_count times the sum over tokens of
// experts * sum_e share_e * p_e, where p are the token's scores, which add up to 1, and share_e is
// the part of the choices counted with the token that went to expert e. It is the coefficient
// itself where all experts are chosen equally often. The counts have no gradient.
#include "ir/op_list.h"
#include "ops/moe/router_loss.h"

namespace tessera {
namespace {

// The operands of balance_loss and of its gradient.
void require_balance_loss(const OpCall& call) {
  require_router_loss(call, 2);
  const TensorType &logits = call.operand(0), &counts = call.operand(1);
  const Dims outer(counts.dims.begin(), counts.dims.end() - (counts.dims.empty() ? 0 : 1));
  call.require(counts.dtype == DType::Int32 && !counts.dims.empty() &&
                   counts.dims.back() == logits.dims.back() && begins_with(logits.dims, outer),
               "counts {} are not int32 counts of the experts of {}", to_string(counts),
               to_string(logits));
  const std::string& score = call.attributes.word("score");
  call.require(score == "softmax" || score == "sigmoid",
               "score = {} is not one of softmax, sigmoid", score);
}

std::vector<TensorType> infer_types(const OpCall& call) {
  require_balance_loss(call);
  return {scalar(DType::Fp64)};
}

void gradient(GradientBuilder& g) { router_loss_gradient(g, OpKind::balance_loss_grad); }

// Three operations for each score, and its product with the share.
Cost cost(const OpCall& call) { return cost_of(call, 5 * call.operand(0).num_elements()); }

}  // namespace

const OpDef& balance_loss_def() {
  static const OpDef def{
      .name = "balance_loss",
      .summary = "grows where a router chooses some experts more often than others",
      .operands = {{"logits"}, {"counts"}, {"label_count"}},
      .results = {"loss"},
      .attributes = {{"score", "softmax"}, {"coefficient", 0.01}},
      .infer_types = infer_types,
      .gradient = gradient,
      .gradient_yields_results = true,
      .cost = cost,
      .workspace_bytes = router_loss_workspace_bytes,
      .accumulates = {0},
      .sharding = router_loss_sharding,
  };
  return def;
}

// balance_loss_grad(logits, counts, label_count): balance_loss and the gradient of the logits.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  require_balance_loss(call);
  return {scalar(DType::Fp64), call.operand(0)};
}

Cost grad_cost(const OpCall& call) { return cost_of(call, 8 * call.operand(0).num_elements()); }

}  // namespace

const OpDef& balance_loss_grad_def() {
  static const OpDef def{
      .name = "balance_loss_grad",
      .summary = "balance_loss and the gradient of the logits",
      .operands = {{"logits"}, {"counts"}, {"label_count"}},
      .results = {"loss", "d_logits"},
      .attributes = {{"score", "softmax"}, {"coefficient", 0.01}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .workspace_bytes = router_loss_workspace_bytes,
      .accumulates = {0},
      .sharding = router_loss_sharding,
  };
  return def;
}

}  // namespace tessera
