// SPDX-License-Identifier: Apache-2.0
// The activations and their derivatives, for V = float, double or Lanes<float>: shared by forward,
// gradient and fused kernels.
#if defined(TESSERA_OPS_ELEMENTWISE_ACTIVATIONS_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_OPS_ELEMENTWISE_ACTIVATIONS_CPU_H
#undef TESSERA_OPS_ELEMENTWISE_ACTIVATIONS_CPU_H
#else
#define TESSERA_OPS_ELEMENTWISE_ACTIVATIONS_CPU_H
#endif

#include <numbers>
#include <type_traits>

#include "exec/cpu/fast_math.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

template <typename V>
using ScalarOf = std::conditional_t<std::is_same_v<V, double>, double, float>;

struct Relu {
  template <typename V>
  TESSERA_INLINE static V value(const V& x) {
    return x > 0 ? x : V{};
  }
};

// x * Phi(x), Phi the normal distribution.
struct GeluExact {
  template <typename V>
  TESSERA_INLINE static V value(const V& x) {
    constexpr auto inv_sqrt2 = static_cast<ScalarOf<V>>(1 / std::numbers::sqrt2);
    return (1 + fast_erf<V>(x * inv_sqrt2)) * x * ScalarOf<V>(0.5);
  }
  template <typename V>
  TESSERA_INLINE static V slope(const V& x) {
    constexpr auto inv_sqrt2 = static_cast<ScalarOf<V>>(1 / std::numbers::sqrt2);
    constexpr auto inv_sqrt2pi =
        static_cast<ScalarOf<V>>(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    const V distribution = (1 + fast_erf<V>(x * inv_sqrt2)) * ScalarOf<V>(0.5);
    return distribution + fast_exp<V>(x * x * ScalarOf<V>(-0.5)) * inv_sqrt2pi * x;
  }
};

// 0.5 x (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
  static constexpr double kCubic = 0.044715;
  static constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

  template <typename V>
  TESSERA_INLINE static V value(const V& x) {
    const V u = (x * x * ScalarOf<V>(kCubic) + 1) * x * ScalarOf<V>(kScale);
    return (1 + fast_tanh<V>(u)) * x * ScalarOf<V>(0.5);
  }
  template <typename V>
  TESSERA_INLINE static V slope(const V& x) {
    const V square = x * x;
    const V u = (square * ScalarOf<V>(kCubic) + 1) * x * ScalarOf<V>(kScale);
    const V t = fast_tanh<V>(u);
    const V u_slope = square * ScalarOf<V>(3 * kCubic * kScale) + ScalarOf<V>(kScale);
    return (1 + t) * ScalarOf<V>(0.5) + (1 - t * t) * x * u_slope * ScalarOf<V>(0.5);
  }
};

// The gradient of an activation at x, given that of its value.
template <typename Activation>
struct TimesSlope {
  template <typename A>
  TESSERA_INLINE static A apply(A x, A dy) {
    return Activation::slope(x) * dy;
  }
};

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
