// SPDX-License-Identifier: Apache-2.0
// bf16 from fp32, up or down by chance, so that on average nothing is lost: where weights are kept
// in bf16 most updates are smaller than half a step between two of its numbers.
#pragma once

#include "core/philox.h"

namespace tessera {

// `random`: 16 bits. Infinities and NaNs stay what they are.
constexpr uint16_t rounded_by_chance(uint32_t float_bits, uint32_t random) {
  const uint32_t magnitude = float_bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>((float_bits | 0x400000u) >> 16);
  if (magnitude == 0x7f800000u) return static_cast<uint16_t>(float_bits >> 16);
  return static_cast<uint16_t>((float_bits + random) >> 16);
}

// What elements 2 * pair and 2 * pair + 1 of a buffer draw in one step: element i takes its half of
// word k for its k-th tensor.
constexpr PhiloxWords rounding_draws(uint64_t seed, uint64_t pair, uint32_t step) {
  return philox_words({{static_cast<uint32_t>(pair), static_cast<uint32_t>(pair >> 32), step,
                        0x726f756eu}},  // "roun": no other stream has this purpose
                      static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

constexpr uint32_t draw_of(const PhiloxWords& draws, uint64_t element, int tensor) {
  return (draws.words[tensor] >> (element % 2 * 16)) & 0xffffu;
}

}  // namespace tessera
