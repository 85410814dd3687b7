// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/sharded_loss_operands_samples.h"

namespace tessera {

std::vector<OpSample> sharded_loss_samples() {
  const auto sample = [](const char* name, int64_t ignored_every, int64_t flops) {
    const ShardedLossCase c{.name = name,
                            .batch = 3,
                            .seq = 7,
                            .d = 1,
                            .rows = 1,
                            .shard = 0,
                            .vocabulary = 50,
                            .ignored_every = ignored_every};
    return OpSample{.name = name,
                    .operands = {c.all_max(), c.stats(), c.labels(), c.label_count()},
                    .flops = flops};
  };
  return {sample("every_label_counts", 0, 4 * 21 + 1),
          sample("some_labels_are_ignored", 3, 4 * 21 + 1),
          sample("all_labels_are_ignored", 1, 4 * 21 + 1)};
}

}  // namespace tessera
