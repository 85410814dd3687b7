// SPDX-License-Identifier: Apache-2.0
#include "data/write_inputs.h"

#include <vector>

namespace tessera {

void write_inputs(Executor& executor, uint64_t seed, const InputWord& word) {
  const HostView& program = executor.program();
  for (const HostBuffer& input : program.batch_inputs) {
    const RandomStream random(seed, input.name);
    const int64_t elements = input.whole.num_elements();
    std::vector<std::byte> bytes(static_cast<size_t>(input.whole.bytes()));
    for (int microbatch = 0; microbatch < program.microbatches; ++microbatch) {
      const int64_t first = microbatch * elements;
      if (input.whole.dtype == DType::Int32) {
        auto* words = reinterpret_cast<int32_t*>(bytes.data());
        for (int64_t i = 0; i < elements; ++i) words[i] = word(input, random, first + i);
      } else {
        dispatch_float(input.whole.dtype, [&]<typename T>() {
          T* values = reinterpret_cast<T*>(bytes.data());
          for (int64_t i = 0; i < elements; ++i)
            values[i] = store<T>(
                static_cast<Accumulator<T>>(random.normal(static_cast<uint64_t>(first + i))));
        });
      }
      executor.write_batch(input, microbatch, bytes);
    }
  }
}

}  // namespace tessera
