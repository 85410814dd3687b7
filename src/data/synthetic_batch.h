// SPDX-License-Identifier: Apache-2.0
// Batches that are made up: for benchmarks, and to verify a plan with.
#pragma once

#include <functional>

#include "core/random.h"
#include "exec/executor.h"

namespace tessera {

// To verify a plan with: random tokens in documents that begin anywhere, labels ignored unevenly
// over rows and positions. A pure function of (seed, step, input, element), so every plan sees the
// same batch.
struct VerificationBatchOptions {
  uint64_t seed = 1;
  int64_t vocabulary = 0;
};

// Writes every batch input of all microbatches.
void write_verification_batch(Executor& executor, int64_t step,
                              const VerificationBatchOptions& options);

// A batch for benchmarks: random tokens and labels, every row one document; an mlp's inputs and
// targets are normal. Writes every batch input of all microbatches.
void write_benchmark_batch(Executor& executor, int64_t vocabulary);

// Element `index` of an input, counted over all microbatches.
using InputWord =
    std::function<int32_t(const HostBuffer& input, const RandomStream& random, int64_t index)>;

// Writes every batch input of all microbatches: floats are normal, integers are given.
void write_inputs(Executor& executor, uint64_t seed, const InputWord& word);

}  // namespace tessera
