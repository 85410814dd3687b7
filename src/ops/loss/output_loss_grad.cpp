// SPDX-License-Identifier: Apache-2.0
// output_loss_grad(x, table, labels, label_count): the loss and, from the same logits, its
// gradients dx and dtable.
#include "ops/loss/output_loss.h"
#include "ops/loss/sharded_vocabulary.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_output_loss_operands(call);
  return {scalar(DType::Fp64), call.operand(0), dtable_type(call)};
}

// Per logit three products, and four operations: max, exp, sum, scale.
Cost cost(const OpCall& call) {
  const OutputLossSizes s(call.operand(0), call.operand(1));
  return cost_of(call, s.rows * s.vocab * (6 * s.width + 4));
}

}  // namespace

const OpDef& output_loss_grad_def() {
  static const OpDef def{
      .name = "output_loss_grad",
      .summary = "output_loss and its gradients, in one pass over chunks of rows",
      .operands = {{"x"}, {"table"}, {"labels"}, {"label_count"}},
      .results = {"loss", "dx", "dtable"},
      .attributes = {{"dtype", "same"}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = output_loss_workspace_bytes,
      .accumulates = {0, 2},
      .sharding = output_loss_sharding,
      .expand = expand_output_loss_grad,
  };
  return def;
}

}  // namespace tessera
