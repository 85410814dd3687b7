// SPDX-License-Identifier: Apache-2.0
// router_z_loss_grad(logits, label_count): router_z_loss and the gradient of the logits.
#include "ops/moe/router_loss.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_router_loss(call, 1);
  return {scalar(DType::Fp64), call.operand(0)};
}

Cost cost(const OpCall& call) { return cost_of(call, 4 * call.operand(0).num_elements()); }

}  // namespace

const OpDef& router_z_loss_grad_def() {
  static const OpDef def{
      .name = "router_z_loss_grad",
      .summary = "router_z_loss and the gradient of the logits",
      .operands = {{"logits"}, {"label_count"}},
      .results = {"loss", "d_logits"},
      .attributes = {{"coefficient", 0.001}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = router_loss_workspace_bytes,
      .accumulates = {0},
      .sharding = router_loss_sharding,
  };
  return def;
}

}  // namespace tessera
