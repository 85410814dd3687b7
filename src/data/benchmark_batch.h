// SPDX-License-Identifier: Apache-2.0
// A batch for benchmarks: random tokens and labels, every row one document; an mlp's inputs and
// targets are normal.
#pragma once

#include "exec/executor.h"

namespace tessera {

// Writes every batch input of all microbatches.
void write_benchmark_batch(Executor& executor, int64_t vocabulary);

}  // namespace tessera
