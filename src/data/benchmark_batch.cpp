// SPDX-License-Identifier: Apache-2.0
#include "data/benchmark_batch.h"

#include "data/write_inputs.h"

namespace tessera {

void write_benchmark_batch(Executor& executor, int64_t vocabulary) {
  write_inputs(executor, 1,
               [&](const HostBuffer& input, const RandomStream& random, int64_t index) {
                 if (input.name == "document") return int32_t{0};
                 if (input.name == "positions")
                   return static_cast<int32_t>(index % input.whole.size_of("seq"));
                 return static_cast<int32_t>(
                     random.below(static_cast<uint64_t>(index), static_cast<uint64_t>(vocabulary)));
               });
}

}  // namespace tessera
