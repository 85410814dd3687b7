// SPDX-License-Identifier: Apache-2.0
// Floats of 16 and 8 bits besides bf16.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/dtype.h"

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

constexpr DType dtype_of(Fp8 format) { return format == Fp8::E4m3 ? DType::E4m3 : DType::E5m2; }
constexpr std::optional<Fp8> fp8_from_dtype(DType dtype) {
  if (dtype == DType::E4m3) return Fp8::E4m3;
  if (dtype == DType::E5m2) return Fp8::E5m2;
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

// The byte of a number that the format can represent (rounded_to_fp8); of every NaN the same one.
constexpr uint8_t fp8_bits(float rounded, Fp8 format) {
  const int mantissa_bits = format == Fp8::E4m3 ? 3 : 2, bias = format == Fp8::E4m3 ? 7 : 15;
  const uint32_t bits = std::bit_cast<uint32_t>(rounded);
  const uint32_t sign = bits >> 24 & 0x80u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return 0x7f;
  const int exponent = static_cast<int>(size >> 23) - 127 + bias;
  if (exponent > 0)
    return static_cast<uint8_t>(sign | static_cast<uint32_t>(exponent) << mantissa_bits |
                                (size & 0x7fffffu) >> (23 - mantissa_bits));
  // Subnormal: in units of the smallest one.
  const float unit = format == Fp8::E4m3 ? 0x1p9f : 0x1p16f;
  return static_cast<uint8_t>(sign | static_cast<uint32_t>(std::bit_cast<float>(size) * unit));
}

// What a byte stands for before it is scaled.
constexpr float fp8_value(uint8_t byte, Fp8 format) {
  const int mantissa_bits = format == Fp8::E4m3 ? 3 : 2, bias = format == Fp8::E4m3 ? 7 : 15;
  const uint32_t sign = static_cast<uint32_t>(byte & 0x80u) << 24, size = byte & 0x7fu;
  if (size == 0x7f || (format == Fp8::E5m2 && size > 0x7c))
    return std::bit_cast<float>(0x7fc00000u | sign);
  if (format == Fp8::E5m2 && size == 0x7c) return std::bit_cast<float>(0x7f800000u | sign);
  const uint32_t exponent = size >> mantissa_bits, digits = size & ((1u << mantissa_bits) - 1);
  if (exponent == 0) {
    const float unit = format == Fp8::E4m3 ? 0x1p-9f : 0x1p-16f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(digits) * unit) | sign);
  }
  return std::bit_cast<float>(sign | (exponent + 127 - static_cast<uint32_t>(bias)) << 23 |
                              digits << (23 - mantissa_bits));
}

// The value of x after it was scaled by 2^exponent, rounded and scaled back.
constexpr float through_fp8(float x, int exponent, Fp8 format) {
  return rounded_to_fp8(x * power_of_two(exponent), format) * power_of_two(-exponent);
}

}  // namespace tessera
