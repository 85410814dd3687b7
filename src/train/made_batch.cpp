// SPDX-License-Identifier: Apache-2.0
#include "train/made_batch.h"

#include <vector>

#include "core/random.h"

namespace tessera {
namespace {

// Where the document of a position begins: a row has up to three, cut where its number says.
int64_t document_begin(int64_t row, int64_t position, int64_t seq) {
  const int64_t first = seq * (row * 37 % 60 + 10) / 100, second = seq * (row * 53 % 25 + 70) / 100;
  if (position >= second) return second;
  return position >= first ? first : 0;
}

// Rows differ in how many of their labels count: all, most, few, or only the first half.
bool is_ignored(int64_t row, int64_t position, int64_t seq, uint64_t random) {
  switch (row % 4) {
    case 0:
      return false;
    case 1:
      return random % 5 == 0;
    case 2:
      return random % 5 != 0;
    default:
      return position >= seq / 2;
  }
}

int32_t word(const std::string& input, int64_t row, int64_t position, int64_t seq, uint64_t random,
             int64_t vocabulary) {
  const auto token = static_cast<int32_t>((random >> 8) % static_cast<uint64_t>(vocabulary));
  if (input == "tokens") return token;
  if (input == "labels") return is_ignored(row, position, seq, random) ? -1 : token;
  const int64_t begin = document_begin(row, position, seq);
  if (input == "positions") return static_cast<int32_t>(position - begin);
  if (input == "document") return static_cast<int32_t>(begin);
  throw user_error("there is no way to make the batch input {}", input);
}

}  // namespace

void write_made_batch(Executor& executor, int64_t step, const MadeBatchOptions& options) {
  const HostView& program = executor.program();
  for (const HostBuffer& input : program.batch_inputs) {
    const RandomStream random(options.seed + static_cast<uint64_t>(step) * 1000003, input.name);
    const int64_t batch = input.whole.dims.front().size, elements = input.whole.num_elements();
    const int64_t row_size = elements / batch;
    std::vector<std::byte> bytes(static_cast<size_t>(input.whole.bytes()));
    for (int microbatch = 0; microbatch < program.microbatches; ++microbatch) {
      const int64_t first = microbatch * elements;
      if (input.whole.dtype == DType::Int32) {
        auto* words = reinterpret_cast<int32_t*>(bytes.data());
        for (int64_t i = 0; i < elements; ++i)
          words[i] = word(input.name, (first + i) / row_size, i % row_size, row_size,
                          random.bits(static_cast<uint64_t>(first + i)), options.vocabulary);
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
