// SPDX-License-Identifier: Apache-2.0
// shared_stats(max, sum, chosen, all_max): this shard's terms of the sums over the shards: sum *
// exp(max - all_max), and chosen.
#include "ops/loss/sharded_loss.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_row_stat(call, 0);
  for (size_t i = 1; i < 4; ++i) require_same_type(call, 0, i);
  return {shared_stats_type(call.operand(0))};
}

// Per row a difference, an exponential and a product.
Cost cost(const OpCall& call) { return cost_of(call, 3 * call.operand(0).num_elements()); }

}  // namespace

const OpDef& shared_stats_def() {
  static const OpDef def{
      .name = "shared_stats",
      .summary = "output_stats of one shard, rescaled so that they can be summed over the shards",
      .operands = {{"max"}, {"sum"}, {"chosen"}, {"all_max"}},
      .results = {"stats"},
      .infer_types = infer_types,
      .cost = cost,
      .sharding = shared_stats_sharding,
      .passes_pending = true,
      .whole_beside_pending = {3},
  };
  return def;
}

}  // namespace tessera
