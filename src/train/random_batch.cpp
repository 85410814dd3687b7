// SPDX-License-Identifier: Apache-2.0
#include "train/random_batch.h"

#include <vector>

#include "core/random.h"

namespace tessera {

void write_random_batch(Executor& executor, int64_t vocabulary) {
  const HostView& program = executor.program();
  for (const HostBuffer& input : program.batch_inputs) {
    const RandomStream stream(1, input.name);
    std::vector<std::byte> bytes(static_cast<size_t>(input.whole.bytes()));
    const auto count = static_cast<size_t>(input.whole.num_elements());
    for (int microbatch = 0; microbatch < program.microbatches; ++microbatch) {
      const uint64_t first = static_cast<uint64_t>(microbatch) * count;
      if (input.whole.dtype == DType::Int32) {
        auto* values = reinterpret_cast<int32_t*>(bytes.data());
        const auto seq = static_cast<size_t>(input.whole.size_of("seq"));
        for (size_t i = 0; i < count; ++i) {
          values[i] =
              static_cast<int32_t>(stream.below(first + i, static_cast<uint64_t>(vocabulary)));
          if (input.name == "positions") values[i] = static_cast<int32_t>(i % seq);
          if (input.name == "document") values[i] = 0;
        }
      } else {
        dispatch_float(input.whole.dtype, [&]<typename T>() {
          auto* values = reinterpret_cast<T*>(bytes.data());
          for (size_t i = 0; i < count; ++i)
            values[i] = store<T>(static_cast<Accumulator<T>>(stream.normal(first + i)));
        });
      }
      executor.write_batch(input, microbatch, bytes);
    }
  }
}

}  // namespace tessera
