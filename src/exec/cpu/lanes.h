// SPDX-License-Identifier: Apache-2.0
// 64 bytes of float or double as one value, in as many vectors as the instruction set needs. The
// width is the same everywhere, so the order of sums is too. Compiled once for each set.
#if defined(TESSERA_EXEC_CPU_LANES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_EXEC_CPU_LANES_H
#undef TESSERA_EXEC_CPU_LANES_H
#else
#define TESSERA_EXEC_CPU_LANES_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "exec/cpu/versions.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;  // a whole vector of the set
template <typename T>
using Vector = hn::Vec<Tag<T>>;
template <typename T>
inline constexpr int64_t kVectorLanes = HWY_MAX_BYTES / sizeof(T);
template <typename T>
inline constexpr int64_t kLanes = 64 / sizeof(T);

// Which lanes a condition holds for.
template <typename T>
struct LaneMask {
  hn::Mask<Tag<T>> part[64 / HWY_MAX_BYTES];
};

template <typename T>
struct Lanes {
  static constexpr int kParts = 64 / HWY_MAX_BYTES;
  Vector<T> part[kParts];

  Lanes() = default;
  // The same number in each, as where a scalar meets lanes.
  TESSERA_INLINE Lanes(T x) {  // NOLINT(google-explicit-constructor)
    for (auto& p : part) p = hn::Set(Tag<T>(), x);
  }

  friend TESSERA_INLINE Lanes operator+(const Lanes& x, const Lanes& y) {
    return by_part([](auto a, auto b) HWY_ATTR { return hn::Add(a, b); }, x, y);
  }
  friend TESSERA_INLINE Lanes operator-(const Lanes& x, const Lanes& y) {
    return by_part([](auto a, auto b) HWY_ATTR { return hn::Sub(a, b); }, x, y);
  }
  friend TESSERA_INLINE Lanes operator*(const Lanes& x, const Lanes& y) {
    return by_part([](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); }, x, y);
  }
  friend TESSERA_INLINE Lanes operator/(const Lanes& x, const Lanes& y) {
    return by_part([](auto a, auto b) HWY_ATTR { return hn::Div(a, b); }, x, y);
  }
  friend TESSERA_INLINE LaneMask<T> operator<(const Lanes& x, const Lanes& y) {
    LaneMask<T> mask;
    for (int i = 0; i < kParts; ++i) mask.part[i] = hn::Lt(x.part[i], y.part[i]);
    return mask;
  }
  friend TESSERA_INLINE LaneMask<T> operator>(const Lanes& x, const Lanes& y) { return y < x; }
  TESSERA_INLINE Lanes operator-() const {
    return by_part([](auto a) HWY_ATTR { return hn::Neg(a); }, *this);
  }
  TESSERA_INLINE Lanes& operator+=(const Lanes& x) { return *this = *this + x; }

  // f of each part.
  template <typename F, typename... More>
  static TESSERA_INLINE Lanes by_part(const F& f, const Lanes& x, const More&... more) {
    Lanes y;
    for (int i = 0; i < kParts; ++i) y.part[i] = f(x.part[i], more.part[i]...);
    return y;
  }
};

// What `condition ? x : y` is for numbers, so that one body serves numbers and lanes.
template <typename T>
TESSERA_INLINE Lanes<T> select(const LaneMask<T>& condition, const Lanes<T>& x, const Lanes<T>& y) {
  Lanes<T> z;
  for (int i = 0; i < Lanes<T>::kParts; ++i)
    z.part[i] = hn::IfThenElse(condition.part[i], x.part[i], y.part[i]);
  return z;
}
template <typename T>
TESSERA_INLINE T select(bool condition, T x, T y) {
  return condition ? x : y;
}

// Unaligned; bf16 widens to float and narrows back.
template <typename T>
TESSERA_INLINE auto load_vector(const T* from) {
  if constexpr (std::is_same_v<T, Bf16>) {
    const hn::Rebind<uint16_t, Tag<float>> halves;
    const Tag<uint32_t> words;
    const auto bits = hn::LoadU(halves, reinterpret_cast<const uint16_t*>(from));
    return hn::BitCast(Tag<float>(), hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
  } else {
    return hn::LoadU(Tag<T>(), from);
  }
}

template <typename T>
TESSERA_INLINE Lanes<Accumulator<T>> load_lanes(const T* from) {
  using A = Accumulator<T>;
  Lanes<A> lanes;
  for (int i = 0; i < Lanes<A>::kParts; ++i)
    lanes.part[i] = load_vector(from + i * kVectorLanes<A>);
  return lanes;
}

template <typename T>
TESSERA_INLINE void store_lanes(T* to, const Lanes<Accumulator<T>>& lanes) {
  using A = Accumulator<T>;
  if constexpr (std::is_same_v<T, Bf16>) {
    alignas(64) float wide[kLanes<float>];
    store_lanes(wide, lanes);
    for (int64_t i = 0; i < kLanes<float>; ++i) to[i] = to_bf16(wide[i]);
  } else {
    for (int i = 0; i < Lanes<A>::kParts; ++i)
      hn::StoreU(lanes.part[i], Tag<T>(), to + i * kVectorLanes<T>);
  }
}

// kLanes<S> elements as S; fp32 and bf16 may be widened to double.
template <typename S, typename T>
TESSERA_INLINE Lanes<S> load_lanes_as(const T* from) {
  if constexpr (std::is_same_v<S, Accumulator<T>>) {
    return load_lanes(from);
  } else {
    float wide[kLanes<double>];
    for (int64_t i = 0; i < kLanes<double>; ++i) wide[i] = load(from[i]);
    Lanes<double> lanes;
    const hn::Rebind<float, Tag<double>> halves;
    for (int i = 0; i < Lanes<double>::kParts; ++i)
      lanes.part[i] =
          hn::PromoteTo(Tag<double>(), hn::LoadU(halves, wide + i * kVectorLanes<double>));
    return lanes;
  }
}

// Halves are folded onto each other: a fixed tree.
template <typename T, typename F>
TESSERA_INLINE T fold_lanes(const Lanes<T>& lanes, const F& f) {
  alignas(64) T x[kLanes<T>];
  store_lanes(x, lanes);
  for (int64_t half = kLanes<T> / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) x[i] = f(x[i], x[i + half]);
  return x[0];
}
template <typename T>
TESSERA_INLINE T sum_lanes(const Lanes<T>& lanes) {
  return fold_lanes(lanes, [](T x, T y) HWY_ATTR { return x + y; });
}
template <typename T>
TESSERA_INLINE T max_lanes(const Lanes<T>& lanes) {
  return fold_lanes(lanes, [](T x, T y) HWY_ATTR { return x < y ? y : x; });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
