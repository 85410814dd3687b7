// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/sharded_loss_operands_samples.h"

namespace tessera {

std::vector<OpSample> output_stats_samples() {
  std::vector<OpSample> samples;
  for (const ShardedLossCase& c : sharded_loss_cases())
    samples.push_back({.name = c.name,
                       .operands = {c.x(), c.table(), c.labels(), c.which_shard()},
                       .attributes = {{"vocabulary", c.vocabulary}},
                       .flops = c.tokens() * c.rows * (2 * c.d + 3)});
  return samples;
}

}  // namespace tessera
