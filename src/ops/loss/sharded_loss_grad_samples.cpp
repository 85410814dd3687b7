// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/sharded_loss_operands_samples.h"

namespace tessera {

std::vector<OpSample> sharded_loss_grad_samples() {
  std::vector<OpSample> samples;
  for (const ShardedLossCase& c : sharded_loss_cases())
    samples.push_back({.name = c.name,
                       .operands = {c.x(), c.table(), c.labels(), c.label_count(), c.which_shard(),
                                    c.all_max(), c.stats()},
                       .attributes = {{"vocabulary", c.vocabulary}},
                       .flops = c.tokens() * c.rows * (6 * c.d + 2)});
  samples.back().attributes.set("dtype", "fp64");  // of bf16 the gradient is then fp32
  return samples;
}

}  // namespace tessera
