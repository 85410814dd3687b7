// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace tessera {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  const auto [words] =
      philox_words({{counter[0], counter[1], counter[2], counter[3]}}, key[0], key[1]);
  return {words[0], words[1], words[2], words[3]};
}

uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

RandomStream::RandomStream(uint64_t seed, std::string_view purpose)
    : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {
  const uint64_t hash = hash_text(purpose);
  purpose_ = {static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)};
}

double RandomStream::uniform(uint64_t index) const {
  return static_cast<double>(bits(index) >> 11) * 0x1.0p-53;
}

double RandomStream::normal(uint64_t index) const {
  const uint64_t random = bits(index);
  // Box-Muller from two halves; the first is in (0, 1] so that its logarithm exists.
  const double u = (static_cast<double>(random >> 32) + 1.0) * 0x1.0p-32;
  const double v = static_cast<double>(random & 0xffffffffu) * 0x1.0p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

uint64_t RandomStream::below(uint64_t index, uint64_t bound) const {
  TESSERA_CHECK(bound > 0);
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits(index)) * bound) >> 64);
}

// A balanced Feistel network over the next even power of two, repeated until the result is inside
// the range.
Permutation::Permutation(uint64_t size, const RandomStream& stream) : size_(size) {
  const int bits = size <= 2 ? 2 : std::bit_width(size - 1);
  half_bits_ = (bits + 1) / 2;
  for (uint64_t round = 0; round < round_keys_.size(); ++round)
    round_keys_[round] = stream.bits(round);
}

uint64_t Permutation::operator()(uint64_t position) const {
  TESSERA_CHECK(position < size_, "position {} of {}", position, size_);
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t x = position;
  do {
    uint64_t left = x >> half_bits_, right = x & mask;
    for (const uint64_t key : round_keys_) {
      uint64_t mixed = (right ^ key) * 0x9E3779B97F4A7C15u;
      mixed ^= mixed >> 29;
      mixed *= 0xBF58476D1CE4E5B9u;
      mixed ^= mixed >> 32;
      const uint64_t next = left ^ (mixed & mask);
      left = right;
      right = next;
    }
    x = (left << half_bits_) | right;
  } while (x >= size_);
  return x;
}

}  // namespace tessera
