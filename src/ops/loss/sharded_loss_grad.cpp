// SPDX-License-Identifier: Apache-2.0
// sharded_loss_grad(x, table, labels, label_count, shard, all_max, stats): the loss, this shard's
// share of dx, which is then summed over the shards, and dtable of the shard's own rows, 0 in
// padding.
#include "ops/loss/sharded_loss.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_sharded_logit_operands(call, 4);
  const TensorType& x = call.operand(0);
  require_type(call, 3, scalar(DType::Fp64));
  require_type(call, 5, row_stat_type(x));
  require_type(call, 6, shared_stats_type(row_stat_type(x)));
  return {scalar(DType::Fp64), x, dtable_type(call)};
}

// Per logit three products, and two operations: exp, scale.
Cost cost(const OpCall& call) {
  const OutputLossSizes s(call.operand(0), call.operand(1));
  return cost_of(call, s.rows * s.vocab * (6 * s.width + 2));
}

}  // namespace

const OpDef& sharded_loss_grad_def() {
  static const OpDef def{
      .name = "sharded_loss_grad",
      .summary = "sharded_loss and one shard's part of its gradients, in chunks of rows",
      .operands =
          {{"x"}, {"table"}, {"labels"}, {"label_count"}, {"shard"}, {"all_max"}, {"stats"}},
      .results = {"loss", "dx", "dtable"},
      .attributes = {{"vocabulary", int64_t{0}}, {"dtype", "same"}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = output_loss_workspace_bytes,
      .accumulates = {0, 2},
      .sharding = sharded_logits_sharding,
  };
  return def;
}

}  // namespace tessera
