// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic_batch.h"

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

// Where the document of a position begins: a row has up to three, with boundaries that depend on
// its number.
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
  const auto token =
      static_cast<int32_t>((random >> 8) % static_cast<uint64_t>(std::max<int64_t>(1, vocabulary)));
  if (input == "tokens") return token;
  if (input == "labels") return is_ignored(row, position, seq, random) ? -1 : token;
  const int64_t begin = document_begin(row, position, seq);
  if (input == "positions") return static_cast<int32_t>(position - begin);
  if (input == "document") return static_cast<int32_t>(begin);
  return token;  // an input of a program's own model
}

}  // namespace

void write_verification_batch(Executor& executor, int64_t step,
                              const VerificationBatchOptions& options) {
  write_inputs(executor, options.seed + static_cast<uint64_t>(step) * 1000003,
               [&](const HostBuffer& input, const RandomStream& random, int64_t index) {
                 const int64_t seq = input.whole.num_elements() / input.whole.dims.front().size;
                 return word(input.name, index / seq, index % seq, seq,
                             random.bits(static_cast<uint64_t>(index)), options.vocabulary);
               });
}

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
