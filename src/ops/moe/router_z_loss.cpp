// SPDX-License-Identifier: Apache-2.0
// router_z_loss(logits, label_count): coefficient / label_count times the sum over tokens of
// log(sum_e exp(logit_e))^2, which keeps logits small (ST-MoE).
#include "ir/op_list.h"
#include "ops/moe/router_loss.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_router_loss(call, 1);
  return {scalar(DType::Fp64)};
}

void gradient(GradientBuilder& g) { router_loss_gradient(g, OpKind::router_z_loss_grad); }

// Max, exp and sum.
Cost cost(const OpCall& call) { return cost_of(call, 3 * call.operand(0).num_elements()); }

}  // namespace

const OpDef& router_z_loss_def() {
  static const OpDef def{
      .name = "router_z_loss",
      .summary = "grows with a router's logits",
      .operands = {{"logits"}, {"label_count"}},
      .results = {"loss"},
      .attributes = {{"coefficient", 0.001}},
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

// router_z_loss_grad(logits, label_count): router_z_loss and the gradient of the logits.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  require_router_loss(call, 1);
  return {scalar(DType::Fp64), call.operand(0)};
}

Cost grad_cost(const OpCall& call) { return cost_of(call, 4 * call.operand(0).num_elements()); }

}  // namespace

const OpDef& router_z_loss_grad_def() {
  static const OpDef def{
      .name = "router_z_loss_grad",
      .summary = "router_z_loss and the gradient of the logits",
      .operands = {{"logits"}, {"label_count"}},
      .results = {"loss", "d_logits"},
      .attributes = {{"coefficient", 0.001}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .workspace_bytes = router_loss_workspace_bytes,
      .accumulates = {0},
      .sharding = router_loss_sharding,
  };
  return def;
}

}  // namespace tessera
