// SPDX-License-Identifier: Apache-2.0
// sharded_loss(all_max, stats, labels, label_count): output_loss, from the statistics of all shards
// of the vocabulary. Every shard computes the same number.
#include "ops/loss/sharded_loss.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_row_stat(call, 0);
  const TensorType& all_max = call.operand(0);
  require_type(call, 1, shared_stats_type(all_max));
  require_type(call, 2, with_dtype(all_max, DType::Int32));
  require_type(call, 3, scalar(DType::Fp64));
  return {scalar(DType::Fp64)};
}

// Per row a logarithm, a sum, a difference and the sum over rows; then the division.
Cost cost(const OpCall& call) { return cost_of(call, 4 * call.operand(0).num_elements() + 1); }

}  // namespace

const OpDef& sharded_loss_def() {
  static const OpDef def{
      .name = "sharded_loss",
      .summary = "mean cross-entropy, from the statistics of all shards of the vocabulary",
      .operands = {{"all_max"}, {"stats"}, {"labels"}, {"label_count"}},
      .results = {"loss"},
      .infer_types = infer_types,
      .cost = cost,
      .accumulates = {0},
      .sharding = shared_stats_sharding,
  };
  return def;
}

// sharded_loss_grad(x, table, labels, label_count, shard, all_max, stats): the loss, this shard's
// share of dx, which is then summed over the shards, and, with_dtable = 1, dtable of the shard's
// own rows, 0 in padding.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  require_sharded_logit_operands(call, 4);
  const TensorType& x = call.operand(0);
  require_type(call, 3, scalar(DType::Fp64));
  require_type(call, 5, row_stat_type(x));
  require_type(call, 6, shared_stats_type(row_stat_type(x)));
  return output_gradient_types(call);
}

// Per logit three products, and two operations: exp, scale.
Cost grad_cost(const OpCall& call) {
  const OutputLossSizes s(call.operand(0), call.operand(1));
  return cost_of(call, s.rows * s.vocab * (flops_of_output_gradients(call) * s.width + 2));
}

}  // namespace

const OpDef& sharded_loss_grad_def() {
  static const OpDef def{
      .name = "sharded_loss_grad",
      .summary = "sharded_loss and one shard's part of its gradients, in chunks of rows",
      .operands =
          {{"x"}, {"table"}, {"labels"}, {"label_count"}, {"shard"}, {"all_max"}, {"stats"}},
      .results = {"loss", "dx", "dtable"},
      .attributes = {{"vocabulary", int64_t{0}}, {"dtype", "same"}, {"with_dtable", int64_t{1}}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .workspace_bytes = output_loss_workspace_bytes,
      .accumulates = {0, 2},
      .sharding = sharded_logits_sharding,
  };
  return def;
}

// output_stats(x, table, labels, shard): for every row, over the logits of this shard of the
// vocabulary: the largest, the sum of exp(logit - largest), and the label's logit, which is 0 if
// another shard has it. A shard of only padding has -inf, 0, 0.
namespace {

std::vector<TensorType> infer_output_stats(const OpCall& call) {
  require_sharded_logit_operands(call, 3);
  const TensorType stat = row_stat_type(call.operand(0));
  return {stat, stat, stat};
}

// Per logit its product, and three operations for the softmax: max, exp, sum.
Cost output_stats_cost(const OpCall& call) {
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
      .infer_types = infer_output_stats,
      .cost = output_stats_cost,
      .workspace_bytes = output_loss_workspace_bytes,
      .sharding = sharded_logits_sharding,
  };
  return def;
}

// shared_stats(max, sum, chosen, all_max): this shard's terms of the sums over the shards: sum *
// exp(max - all_max), and chosen.
namespace {

std::vector<TensorType> infer_shared_stats(const OpCall& call) {
  require_row_stat(call, 0);
  for (size_t i = 1; i < 4; ++i) require_same_type(call, 0, i);
  return {shared_stats_type(call.operand(0))};
}

// Per row a difference, an exponential and a product.
Cost shared_stats_cost(const OpCall& call) {
  return cost_of(call, 3 * call.operand(0).num_elements());
}

}  // namespace

const OpDef& shared_stats_def() {
  static const OpDef def{
      .name = "shared_stats",
      .summary = "output_stats of one shard, rescaled so that they can be summed over the shards",
      .operands = {{"max"}, {"sum"}, {"chosen"}, {"all_max"}},
      .results = {"stats"},
      .infer_types = infer_shared_stats,
      .cost = shared_stats_cost,
      .sharding = shared_stats_sharding,
      .passes_pending = true,
      .whole_beside_pending = {3},
  };
  return def;
}

}  // namespace tessera
