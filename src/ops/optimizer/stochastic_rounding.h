// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding from fp32 to bf16: up or down at random, so that on average nothing is lost.
// Where weights are kept in bf16, most updates are smaller than half the distance of two numbers.
#pragma once

#include "core/random.h"

namespace tessera {

// `random`: 16 bits. Infinities and NaNs stay what they are.
constexpr uint16_t stochastic_round(uint32_t float_bits, uint32_t random) {
  const uint32_t magnitude = float_bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>((float_bits | 0x400000u) >> 16);
  if (magnitude == 0x7f800000u) return static_cast<uint16_t>(float_bits >> 16);
  return static_cast<uint16_t>((float_bits + random) >> 16);
}

// What elements 4 * four to 4 * four + 3 of a buffer draw in one step: element i takes word i % 4.
constexpr PhiloxWords rounding_draws(uint64_t seed, uint64_t four, uint32_t step) {
  return philox_words<7>({{static_cast<uint32_t>(four), static_cast<uint32_t>(four >> 32), step,
                           0x726f756eu}},  // "roun": no other stream has this purpose
                         static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}
constexpr uint32_t rounding_word(uint64_t seed, uint64_t element, uint32_t step) {
  const PhiloxWords draws = rounding_draws(seed, element / 4, step);
  const uint32_t first = element % 2 ? draws.words[1] : draws.words[0];
  const uint32_t second = element % 2 ? draws.words[3] : draws.words[2];
  return element % 4 < 2 ? first : second;
}

// Of an element's word, the 16 bits for its k-th tensor: weights (0) have as many of their own,
// moments (1 and 2) eight, and the middle of what those leave open.
constexpr uint32_t draw_of(uint32_t word, int tensor) {
  if (tensor == 0) return word & 0xffffu;
  return ((word >> (8 * tensor)) & 0xff00u) | 0x80u;
}

}  // namespace tessera
