// SPDX-License-Identifier: Apache-2.0
// squared_loss_grad(prediction, target, label_count): the loss and, in the same pass, its gradient
// 2 * (prediction - target) / label_count.
#include "ops/loss/squared_loss.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_squared_loss_operands(call);
  return {scalar(DType::Fp64), call.operand(0)};
}

Cost cost(const OpCall& call) { return cost_of(call, 4 * call.operand(0).num_elements() + 1); }

}  // namespace

const OpDef& squared_loss_grad_def() {
  static const OpDef def{
      .name = "squared_loss_grad",
      .summary = "squared_loss and its gradient in one pass",
      .operands = {{"prediction"}, {"target"}, {"label_count"}},
      .results = {"loss", "dprediction"},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = squared_loss_workspace_bytes,
      .in_place = {{.result = 1, .operand = 0}, {.result = 1, .operand = 1}},
      .accumulates = {0},
  };
  return def;
}

}  // namespace tessera
