// SPDX-License-Identifier: Apache-2.0
// Reads float16 as other programs store it. Nothing computes in it: each of its numbers is exactly
// representable in fp32, and is converted to that.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera {

constexpr float half_to_float(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, digits = half & 1023u;
  if (exponent == 0)  // evenly spaced around zero
    return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(digits) * 0x1p-24f) |
                                sign);
  const uint32_t wide = exponent == 31 ? 255u : exponent + 112u;  // infinities and NaNs stay
  return std::bit_cast<float>(sign | wide << 23 | digits << 13);
}

// All elements of `halves`, as fp32; bytes need no alignment.
void widen_halves(std::span<const std::byte> halves, std::span<std::byte> floats);

}  // namespace tessera
