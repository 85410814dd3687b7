// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/loss/sharded_loss_operands_samples.h"

namespace tessera {

std::vector<OpSample> shared_stats_samples() {
  const auto sample = [](const char* name, int64_t seq, double below, int64_t flops) {
    const ShardedLossCase c{
        .name = name, .batch = 2, .seq = seq, .d = 1, .rows = 1, .shard = 0, .vocabulary = 1};
    return OpSample{.name = name,
                    .operands = {c.row_stat([below](int64_t i, double u) {
                                   return i % 5 == 0 ? below : 3 * u;
                                 }),
                                 c.row_stat([](int64_t, double u) { return 1 + u; }),
                                 c.row_stat([](int64_t, double u) { return u - 1; }), c.all_max()},
                    .flops = flops};
  };
  return {sample("a_shard_near_the_largest", 9, 2.0, 3 * 18),
          sample("logits_far_below_the_largest", 9, -300.0, 3 * 18),
          sample("a_shard_of_padding", 9, -std::numeric_limits<double>::infinity(), 3 * 18),
          sample("several_pieces", 9000, 2.0, 3 * 18000)};
}

}  // namespace tessera
