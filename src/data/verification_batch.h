// SPDX-License-Identifier: Apache-2.0
// Batches to verify a plan with: random tokens in documents that begin anywhere, labels ignored
// unevenly over rows and positions. A pure function of (seed, step, input, element), so every plan
// sees the same batch.
#pragma once

#include "exec/executor.h"

namespace tessera {

struct VerificationBatchOptions {
  uint64_t seed = 1;
  int64_t vocabulary = 0;
};

// Writes every batch input of all microbatches.
void write_verification_batch(Executor& executor, int64_t step,
                              const VerificationBatchOptions& options);

}  // namespace tessera
