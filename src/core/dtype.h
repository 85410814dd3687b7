// SPDX-License-Identifier: Apache-2.0
// Element types. bf16 is storage only: arithmetic on it happens in fp32 (`Accumulator`). e4m3 and
// e5m2 are bytes that matrix products read, each times a scale (narrow_floats.h); no other
// arithmetic happens on them, so is_float() does not count them.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "core/error.h"

namespace tessera {

enum class DType : uint8_t { Fp64, Fp32, Bf16, Int32, E4m3, E5m2 };

int64_t size_bytes(DType dtype);
std::string_view name(DType dtype);  // "fp32", as in IR, configs and errors
std::optional<DType> dtype_from_name(std::string_view text);
bool is_float(DType dtype);
DType accumulator_of(DType dtype);  // bf16 -> fp32, else itself

struct Bf16 {
  uint16_t bits;
};

inline float to_float(Bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

// Round to nearest, ties to even; a NaN stays a NaN.
inline Bf16 to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const uint32_t quiet_nan = bits | 0x400000u;
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return Bf16{static_cast<uint16_t>((nan ? quiet_nan : rounded) >> 16)};
}

// The type in which sums over T are kept.
template <typename T>
using Accumulator = std::conditional_t<std::is_same_v<T, Bf16>, float, T>;

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) return DType::Fp64;
  if constexpr (std::is_same_v<T, float>) return DType::Fp32;
  if constexpr (std::is_same_v<T, Bf16>) return DType::Bf16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::Int32;
}

// load/store between an element and its accumulator type, so one kernel template serves all float
// dtypes.
inline float load(Bf16 x) { return to_float(x); }
inline float load(float x) { return x; }
inline double load(double x) { return x; }
template <typename T>
inline T store(Accumulator<T> x) {
  if constexpr (std::is_same_v<T, Bf16>)
    return to_bf16(x);
  else
    return x;
}

// Calls f.template operator()<T>() with the C++ type of a float dtype.
template <typename F>
decltype(auto) dispatch_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Fp64:
      return f.template operator()<double>();
    case DType::Fp32:
      return f.template operator()<float>();
    case DType::Bf16:
      return f.template operator()<Bf16>();
    case DType::Int32:
    case DType::E4m3:
    case DType::E5m2:
      break;
  }
  check_failed("is_float(dtype)", __FILE__, __LINE__, std::string(name(dtype)));
}

}  // namespace tessera
