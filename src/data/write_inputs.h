// SPDX-License-Identifier: Apache-2.0
// Writes every batch input of all microbatches: floats are normal, integers are given.
#pragma once

#include <functional>

#include "core/random.h"
#include "exec/executor.h"

namespace tessera {

// Element `index` of an input, counted over all microbatches.
using InputWord =
    std::function<int32_t(const HostBuffer& input, const RandomStream& random, int64_t index)>;

void write_inputs(Executor& executor, uint64_t seed, const InputWord& word);

}  // namespace tessera
