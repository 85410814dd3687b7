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

}  // namespace tessera
