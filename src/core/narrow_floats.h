// SPDX-License-Identifier: Apache-2.0
// Floats of 16 and 8 bits besides bf16.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

// Reads float16 as other programs store it. Nothing computes in it: each of its numbers is exactly
// representable in fp32, and is converted to that.
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

// The two 8-bit floats of training (Micikevicius et al., "FP8 formats for deep learning") as
// rounding of fp32 numbers to those that they can represent. A tensor is scaled by a power of two
// before it is rounded, so that scaling is exact. constexpr, so that GPUs run it too.
enum class Fp8 : uint8_t { E4m3, E5m2 };
constexpr std::string_view name(Fp8 format) { return format == Fp8::E4m3 ? "e4m3" : "e5m2"; }
constexpr std::optional<Fp8> fp8_from_name(std::string_view text) {
  if (text == "e4m3") return Fp8::E4m3;
  if (text == "e5m2") return Fp8::E5m2;
  return {};
}

constexpr float largest_fp8(Fp8 format) { return format == Fp8::E4m3 ? 448.0f : 57344.0f; }

// To the nearest, ties to even; larger numbers become the largest one, a NaN stays a NaN.
constexpr float rounded_to_fp8(float x, Fp8 format) {
  const int mantissa_bits = format == Fp8::E4m3 ? 3 : 2;
  const float least_normal = format == Fp8::E4m3 ? 0x1p-6f : 0x1p-14f;
  const uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits & 0x80000000u;
  const float size = std::bit_cast<float>(bits ^ sign);
  if (size != size) return x;
  float rounded = 0;
  if (size < least_normal) {
    // Subnormal numbers are evenly spaced: adding a large number rounds to that spacing.
    const float shift = least_normal * static_cast<float>(1 << (23 - mantissa_bits));
    rounded = (size + shift) - shift;
  } else {
    const int dropped = 23 - mantissa_bits;
    const uint32_t all = bits ^ sign;
    const uint32_t half = (1u << (dropped - 1)) - 1 + ((all >> dropped) & 1u);
    rounded = std::bit_cast<float>((all + half) >> dropped << dropped);
  }
  if (rounded > largest_fp8(format)) rounded = largest_fp8(format);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(rounded) | sign);
}

// The largest e for which 2^e times the tensor's largest entry still fits; both formats' largest
// numbers are 1.75 times a power of two.
constexpr int fp8_exponent(float largest, Fp8 format) {
  const uint32_t bits = std::bit_cast<uint32_t>(largest) & 0x7fffffffu;
  if (bits == 0 || bits >= 0x7f800000u) return 0;
  const int own = static_cast<int>(bits >> 23) - 127;
  const int fits = (format == Fp8::E4m3 ? 8 : 15) - own - ((bits & 0x7fffffu) > 0x600000u ? 1 : 0);
  return fits > 100 ? 100 : fits < -100 ? -100 : fits;
}

constexpr float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(127 + exponent) << 23);
}

// The value of x after it was scaled by 2^exponent, rounded and scaled back.
constexpr float through_fp8(float x, int exponent, Fp8 format) {
  return rounded_to_fp8(x * power_of_two(exponent), format) * power_of_two(-exponent);
}

}  // namespace tessera
