// SPDX-License-Identifier: Apache-2.0
// output_stats(x, table, labels, shard): for every row, over the logits of this shard of the
// vocabulary: the largest, the sum of exp(logit - largest), and the label's logit, which is 0 if
// another shard has it. A shard of only padding has -inf, 0, 0.
#include "ops/loss/sharded_loss.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_sharded_logit_operands(call, 3);
  const TensorType stat = row_stat_type(call.operand(0));
  return {stat, stat, stat};
}

// Per logit its product, and three operations for the softmax: max, exp, sum.
Cost cost(const OpCall& call) {
  const OutputLossSizes s(call.operand(0), call.operand(1));
  return cost_of(call, s.rows * s.vocab * (2 * s.width + 3));
}

}  // namespace

const OpDef& output_stats_def() {
  static const OpDef def{
      .name = "output_stats",
      .summary = "softmax statistics of one shard of the vocabulary, in chunks of rows",
      .operands = {{"x"}, {"table"}, {"labels"}, {"shard"}},
      .results = {"max", "sum", "chosen"},
      .attributes = {{"vocabulary", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = output_loss_workspace_bytes,
      .sharding = sharded_logits_sharding,
  };
  return def;
}

}  // namespace tessera
