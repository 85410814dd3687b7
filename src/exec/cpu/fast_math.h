// SPDX-License-Identifier: Apache-2.0
// exp, tanh, erf and sigmoid without branches, for V = float or Lanes<float>; double falls back to
// the standard library. Relative error below 2e-7 (exp), 3e-7 (tanh, erf); exp below 2.4e-38 is 0;
// NaN stays NaN. Compiled once for each instruction set.
#if defined(TESSERA_EXEC_CPU_FAST_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_EXEC_CPU_FAST_MATH_H
#undef TESSERA_EXEC_CPU_FAST_MATH_H
#else
#define TESSERA_EXEC_CPU_FAST_MATH_H
#endif

#include <bit>
#include <cmath>

#include "exec/cpu/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// 2^(n-1), where adding 1.5 * 2^23 left n in the low bits of `shifted`.
TESSERA_INLINE float half_power_of(float shifted) {
  return std::bit_cast<float>((std::bit_cast<int32_t>(shifted) + (126 - 0x4b400000)) << 23);
}
TESSERA_INLINE Lanes<float> half_power_of(const Lanes<float>& shifted) {
  Lanes<float> power;
  const Tag<int32_t> bits;
  for (int i = 0; i < Lanes<float>::kParts; ++i) {
    const auto n = hn::Add(hn::BitCast(bits, shifted.part[i]), hn::Set(bits, 126 - 0x4b400000));
    power.part[i] = hn::BitCast(Tag<float>(), hn::ShiftLeft<23>(n));
  }
  return power;
}

// What exp and expm1 share: x = n ln2 + r with |r| <= ln2 / 2.
template <typename V>
struct Reduced {
  V r;
  V half_power;  // 2^(n-1): n = 128 has no float of its own
};

template <typename V>
TESSERA_INLINE Reduced<V> reduce_by_ln2(const V& x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const V shifted = x * 1.44269504f + kRound;
  const V n = shifted - kRound;
  const V r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  return {r, half_power_of(shifted)};
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

template <typename V>
TESSERA_INLINE V fast_exp(const V& x) {
  if constexpr (std::is_same_v<V, double>) {
    return std::exp(x);
  } else if constexpr (std::is_same_v<V, Lanes<double>>) {
    double y[kLanes<double>];
    store_lanes(y, x);
    for (double& each : y) each = std::exp(each);
    return load_lanes(y);
  } else {
    V clamped = select(x > 89.0f, V(89.0f), x);
    clamped = select(clamped < -86.64f, V(-87.33654f), clamped);
    const auto [r, half_power] = reduce_by_ln2(clamped);
    const V y = (exp_tail(r) * r * r + r + 1.0f) * 2.0f * half_power;
    return select(x < -86.64f, V(0.0f), y);
  }
}

// tanh(x) = e / (e + 2) with e = exp(2x) - 1, which keeps the digits near 0.
template <typename V>
TESSERA_INLINE V fast_tanh(const V& x) {
  if constexpr (std::is_same_v<V, double>) {
    return std::tanh(x);
  } else {
    V clamped = select(x > 10.0f, V(10.0f), x);
    clamped = select(clamped < -10.0f, V(-10.0f), clamped);
    const auto [r, half_power] = reduce_by_ln2<V>(clamped * 2.0f);
    const V power = half_power * 2.0f;
    const V e = (exp_tail(r) * r * r + r) * power + (power - 1.0f);
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
    const V t = select(x < 0.0f, -x, x);
    V far = (t * -1.72853470e-5f + 3.83197126e-4f) * s + (t * -3.88396438e-3f + 2.42546219e-2f);
    far = far * t - 1.06777877e-1f;
    far = far * t - 6.34846687e-1f;
    far = far * t - 1.28717512e-1f;
    far = 1.0f - fast_exp<V>(far * t - t);
    far = select(x < 0.0f, -far, far);
    return select(t > 0.921875f, far, near);
  }
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
