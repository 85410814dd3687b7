// SPDX-License-Identifier: Apache-2.0
// This rank's piece of a tensor that all ranks have whole.
#include "ops/collective/take_piece_cpu.h"

namespace tessera {

void take_shard_cpu(const CpuCall& call) {
  const int64_t ranks = call.attributes.integer("ranks");
  copy_piece(call, index_of_rank(call, 1, ranks), ranks);
}

}  // namespace tessera
