// SPDX-License-Identifier: Apache-2.0
#include "data/verification_batch.h"

#include "data/write_inputs.h"

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
  const auto token = static_cast<int32_t>((random >> 8) % static_cast<uint64_t>(vocabulary));
  if (input == "tokens") return token;
  if (input == "labels") return is_ignored(row, position, seq, random) ? -1 : token;
  const int64_t begin = document_begin(row, position, seq);
  if (input == "positions") return static_cast<int32_t>(position - begin);
  if (input == "document") return static_cast<int32_t>(begin);
  throw user_error("cannot create the batch input {}", input);
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

}  // namespace tessera
