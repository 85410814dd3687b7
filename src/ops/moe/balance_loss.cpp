// SPDX-License-Identifier: Apache-2.0
// balance_loss(logits, counts, label_count): coefficient / label_count times the sum over tokens of
// experts * sum_e share_e * p_e, where p are the token's scores, which add up to 1, and share_e is
// the part of the choices counted with the token that went to expert e. It is the coefficient
// itself where all experts are chosen equally often. The counts have no gradient.
#include "ops/moe/balance_loss.h"

#include "ir/op_list.h"

namespace tessera {
namespace {

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

}  // namespace tessera
