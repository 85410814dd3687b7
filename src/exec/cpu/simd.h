// SPDX-License-Identifier: Apache-2.0
// Portable vector code: entry functions cloned per instruction set, 64-byte vectors, and exp, tanh,
// erf and sigmoid without branches. Bodies are always_inline, so that they take on the instruction
// set of the clone they land in; entry functions are no templates.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/dtype.h"

// On a non-template function: compiled for AVX-512, AVX2 and the baseline, chosen when the program
// is loaded. Sanitizers cannot run before the resolvers, hence without them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(TESSERA_SANITIZED)
#define TESSERA_SIMD __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// Expands BODY(version, vector_bytes, vectors) once per instruction set, where a clone would not do
// because its code depends on the width and the number of registers.
#define TESSERA_VERSIONS(BODY)                           \
  BODY(__attribute__((target("arch=x86-64-v4"))), 64, 4) \
  BODY(__attribute__((target("arch=x86-64-v3"))), 32, 2) \
  BODY(__attribute__((target("default"))), 16, 2)
#else
#define TESSERA_SIMD
#define TESSERA_VERSIONS(BODY) BODY(, 16, 2)
#endif
#define TESSERA_INLINE inline __attribute__((always_inline))

// Tells the core that this thread only waits.
#if defined(__x86_64__)
namespace tessera {
inline void spin_hint() { __builtin_ia32_pause(); }
}  // namespace tessera
#else
namespace tessera {
inline void spin_hint() {}
}  // namespace tessera
#endif

// Vectors are only passed between inlined functions, so no calling convention is at stake.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tessera {

// 64 bytes of T: the width is the same on every machine, so the order of sums is too.
template <typename T>
struct LanesOf;
template <>
struct LanesOf<float> {
  using Type = float __attribute__((vector_size(64)));
  using Bits = int32_t __attribute__((vector_size(64)));
};
template <>
struct LanesOf<double> {
  using Type = double __attribute__((vector_size(64)));
  using Bits = int64_t __attribute__((vector_size(64)));
};
template <typename T>
using Lanes = typename LanesOf<T>::Type;
template <typename T>
inline constexpr int64_t kLanes = 64 / sizeof(T);

template <typename T>
TESSERA_INLINE Lanes<T> all_lanes(T x) {
  return x - Lanes<T>{};
}

// Unaligned; bf16 widens to float and narrows back.
template <typename T>
TESSERA_INLINE Lanes<Accumulator<T>> load_lanes(const T* from) {
  Lanes<Accumulator<T>> lanes;
  if constexpr (std::is_same_v<T, Bf16>) {
    uint16_t half __attribute__((vector_size(32)));
    std::memcpy(&half, from, sizeof(half));
    const auto bits = __builtin_convertvector(half, LanesOf<float>::Bits) << 16;
    std::memcpy(&lanes, &bits, sizeof(lanes));
  } else {
    std::memcpy(&lanes, from, sizeof(lanes));
  }
  return lanes;
}

template <typename T>
TESSERA_INLINE void store_lanes(T* to, const Lanes<Accumulator<T>>& lanes) {
  if constexpr (std::is_same_v<T, Bf16>) {
    alignas(64) float wide[kLanes<float>];
    std::memcpy(wide, &lanes, sizeof(wide));
    for (int64_t i = 0; i < kLanes<float>; ++i) to[i] = to_bf16(wide[i]);
  } else {
    std::memcpy(to, &lanes, sizeof(lanes));
  }
}

// The first `count` elements; the other lanes hold `fill`.
template <typename T>
TESSERA_INLINE Lanes<Accumulator<T>> load_some_lanes(const T* from, int64_t count,
                                                     Accumulator<T> fill) {
  using A = Accumulator<T>;
  alignas(64) A wide[kLanes<A>];
  for (int64_t i = 0; i < kLanes<A>; ++i) wide[i] = i < count ? load(from[i]) : fill;
  return load_lanes(wide);
}

// The lanes `distance` apart change places.
template <typename T, int64_t distance>
TESSERA_INLINE Lanes<T> swap_lanes(const Lanes<T>& lanes) {
  typename LanesOf<T>::Bits from;
  for (int64_t i = 0; i < kLanes<T>; ++i) from[i] = i ^ distance;
  return __builtin_shuffle(lanes, from);
}

// Halves are folded onto each other: a fixed tree.
template <typename T, int64_t distance = kLanes<T> / 2>
TESSERA_INLINE T sum_lanes(const Lanes<T>& lanes) {
  const Lanes<T> sum = lanes + swap_lanes<T, distance>(lanes);
  if constexpr (distance == 1)
    return sum[0];
  else
    return sum_lanes<T, distance / 2>(sum);
}

template <typename T, int64_t distance = kLanes<T> / 2>
TESSERA_INLINE T max_lanes(const Lanes<T>& lanes) {
  const Lanes<T> other = swap_lanes<T, distance>(lanes);
  const Lanes<T> larger = lanes < other ? other : lanes;
  if constexpr (distance == 1)
    return larger[0];
  else
    return max_lanes<T, distance / 2>(larger);
}

namespace simd {

// What exp and expm1 share, for V = float or Lanes<float>: x = n ln2 + r with |r| <= ln2 / 2.
template <typename V>
struct Reduced {
  V r;
  V half_power;  // 2^(n-1): n = 128 has no float of its own
};

template <typename V>
TESSERA_INLINE Reduced<V> reduce_by_ln2(const V& x) {
  using Bits = std::conditional_t<std::is_same_v<V, float>, int32_t, LanesOf<float>::Bits>;
  constexpr float kRound =
      12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  const V shifted = x * 1.44269504f + kRound;
  const V n = shifted - kRound;
  const V r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  const Bits power = (__builtin_bit_cast(Bits, shifted) + (126 - 0x4b400000)) << 23;
  return {r, __builtin_bit_cast(V, power)};
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln2 / 2.
template <typename V>
TESSERA_INLINE V exp_tail(const V& r) {
  V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  return p * r + 5.0000001201e-1f;
}

}  // namespace simd

// All for V = float or Lanes<float>, with double falling back to the standard library. Relative
// error below 2e-7 (exp), 3e-7 (tanh, erf); exp below 2.4e-38 is 0; NaN stays NaN.
template <typename V>
TESSERA_INLINE V fast_exp(const V& x) {
  if constexpr (std::is_same_v<V, double>) {
    return std::exp(x);
  } else if constexpr (std::is_same_v<V, Lanes<double>>) {
    V y;
    for (int64_t i = 0; i < kLanes<double>; ++i) y[i] = std::exp(x[i]);
    return y;
  } else {
    V clamped = x > 89.0f ? V{} + 89.0f : x;
    clamped = clamped < -86.64f ? V{} - 87.33654f : clamped;
    const auto [r, half_power] = simd::reduce_by_ln2(clamped);
    const V y = (simd::exp_tail(r) * r * r + r + 1.0f) * 2.0f * half_power;
    return x < -86.64f ? V{} : y;
  }
}

// tanh(x) = e / (e + 2) with e = exp(2x) - 1, which keeps the digits near 0.
template <typename V>
TESSERA_INLINE V fast_tanh(const V& x) {
  if constexpr (std::is_same_v<V, double>) {
    return std::tanh(x);
  } else {
    V clamped = x > 10.0f ? V{} + 10.0f : x;
    clamped = clamped < -10.0f ? V{} - 10.0f : clamped;
    const auto [r, half_power] = simd::reduce_by_ln2<V>(clamped * 2.0f);
    const V power = half_power * 2.0f;
    const V e = (simd::exp_tail(r) * r * r + r) * power + (power - 1.0f);
    return e / (e + 2.0f);
  }
}

template <typename V>
TESSERA_INLINE V fast_sigmoid(const V& x) {
  return 1 / (1 + fast_exp<V>(-x));
}

// Two polynomials (N. Juffa's): in x near 0, in the exponent of 1 - erf beyond.
template <typename V>
TESSERA_INLINE V fast_erf(const V& x) {
  if constexpr (std::is_same_v<V, double>) {
    return std::erf(x);
  } else {
    const V s = x * x;
    V near = s * -5.96761703e-4f + 4.99119423e-3f;
    near = near * s - 2.67681349e-2f;
    near = near * s + 1.12819925e-1f;
    near = near * s - 3.76125336e-1f;
    near = near * s + 1.28379166e-1f;
    near = near * x + x;
    V t = x < 0.0f ? -x : x;
    V far = (t * -1.72853470e-5f + 3.83197126e-4f) * s + (t * -3.88396438e-3f + 2.42546219e-2f);
    far = far * t - 1.06777877e-1f;
    far = far * t - 6.34846687e-1f;
    far = far * t - 1.28717512e-1f;
    far = 1.0f - fast_exp<V>(far * t - t);
    far = x < 0.0f ? -far : far;
    return t > 0.921875f ? far : near;
  }
}

}  // namespace tessera
