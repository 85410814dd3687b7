// SPDX-License-Identifier: Apache-2.0
// balance_loss_grad(logits, counts, label_count): balance_loss and the gradient of the logits.
#include "ops/moe/balance_loss.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_balance_loss(call);
  return {scalar(DType::Fp64), call.operand(0)};
}

Cost cost(const OpCall& call) { return cost_of(call, 8 * call.operand(0).num_elements()); }

}  // namespace

const OpDef& balance_loss_grad_def() {
  static const OpDef def{
      .name = "balance_loss_grad",
      .summary = "balance_loss and the gradient of the logits",
      .operands = {{"logits"}, {"counts"}, {"label_count"}},
      .results = {"loss", "d_logits"},
      .attributes = {{"score", "softmax"}, {"coefficient", 0.01}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = router_loss_workspace_bytes,
      .accumulates = {0},
      .sharding = router_loss_sharding,
  };
  return def;
}

}  // namespace tessera
