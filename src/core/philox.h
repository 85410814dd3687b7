// SPDX-License-Identifier: Apache-2.0
// Philox 4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), for kernels of every
// device: the same words from the same counter and key. constexpr, so that GPUs run it too.
#pragma once

#include <cstdint>

namespace tessera {

struct PhiloxWords {
  uint32_t words[4];
};

// Of the paper's: ten rounds by default, seven the fewest that pass all its tests.
template <int kRounds = 10>
constexpr PhiloxWords philox_words(PhiloxWords counter, uint32_t key0, uint32_t key1) {
  uint32_t(&c)[4] = counter.words;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    c[0] = static_cast<uint32_t>(b >> 32) ^ c[1] ^ key0;
    c[1] = static_cast<uint32_t>(b);
    c[2] = static_cast<uint32_t>(a >> 32) ^ c[3] ^ key1;
    c[3] = static_cast<uint32_t>(a);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace tessera
