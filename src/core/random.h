// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers (Philox 4x32-10): a number is a pure function of (seed, purpose,
// index), so weights, data order and rounding are the same under every plan, thread count and order
// of evaluation.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

// Philox 4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), for kernels of every
// device: the same words from the same counter and key. constexpr, so that GPUs run it too.
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

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

class RandomStream {
 public:
  // `purpose` separates streams: a parameter's name, "data_order", ...
  RandomStream(uint64_t seed, std::string_view purpose);

  // Also for kernels on a GPU, to which a stream can be passed.
  constexpr uint64_t bits(uint64_t index) const {
    const PhiloxWords out =
        philox_words({{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                       purpose_[0], purpose_[1]}},
                     key_[0], key_[1]);
    return (static_cast<uint64_t>(out.words[1]) << 32) | out.words[0];
  }
  double uniform(uint64_t index) const;                  // [0, 1)
  double normal(uint64_t index) const;                   // mean 0, deviation 1
  uint64_t below(uint64_t index, uint64_t bound) const;  // [0, bound)

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 2> purpose_;
};

// A permutation of [0, size) that needs no table: position -> element, for any size.
class Permutation {
 public:
  Permutation(uint64_t size, const RandomStream& stream);
  uint64_t operator()(uint64_t position) const;

 private:
  uint64_t size_;
  int half_bits_;
  std::array<uint64_t, 4> round_keys_;
};

uint64_t hash_text(std::string_view text);  // FNV-1a, stable across machines

}  // namespace tessera
