// SPDX-License-Identifier: Apache-2.0
// Where a norm's kernel, on the CPU or on a GPU, finds its operands and results.
#if defined(TESSERA_OPS_NORM_NORM_ROWS_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_OPS_NORM_NORM_ROWS_CPU_H
#undef TESSERA_OPS_NORM_NORM_ROWS_CPU_H
#else
#define TESSERA_OPS_NORM_NORM_ROWS_CPU_H
#endif

#include "core/dtype.h"
#include "exec/cpu/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// The terms of the sums that norms take along a row, for sum_terms: V = float, double or their
// lanes.
struct Plain {
  template <typename V>
  TESSERA_INLINE V operator()(const V& x) const {
    return x;
  }
};

template <typename A>
struct SquaredDistance {
  A from;
  template <typename V>
  TESSERA_INLINE V operator()(const V& x) const {
    const V distance = x - from;
    return distance * distance;
  }
};

struct Product {
  template <typename V>
  TESSERA_INLINE V operator()(const V& x, const V& y) const {
    return x * y;
  }
};

// dy * gain * (x - from)
template <typename A>
struct GainedProduct {
  A from;
  template <typename V>
  TESSERA_INLINE V operator()(const V& dy, const V& gain, const V& x) const {
    return dy * gain * (x - from);
  }
};

template <typename T>
struct LayerNormRows {
  const T *x, *gain, *bias;  // bias may be null
  T* y;
  Accumulator<T>*mean, *rstd;
  int64_t cols;
  Accumulator<T> epsilon;
};

template <typename T, typename Call>
LayerNormRows<T> rows_of_layer_norm(const Call& call) {
  using A = Accumulator<T>;
  const auto gain = call.operand(1), bias = call.operand(2);
  return {.x = call.operand(0).template as<T>(),
          .gain = gain.template as<T>(),
          .bias = bias ? bias.template as<T>() : nullptr,
          .y = call.result(0).template as<T>(),
          .mean = call.result(1).template as<A>(),
          .rstd = call.result(2).template as<A>(),
          .cols = gain.type->num_elements(),
          .epsilon = static_cast<A>(call.attributes.real("epsilon"))};
}

template <typename T>
struct RmsNormRows {
  const T *x, *gain;
  T* y;
  Accumulator<T>* rstd;
  int64_t cols;
  Accumulator<T> epsilon;
};

template <typename T, typename Call>
RmsNormRows<T> rows_of_rms_norm(const Call& call) {
  using A = Accumulator<T>;
  const auto gain = call.operand(1);
  return {.x = call.operand(0).template as<T>(),
          .gain = gain.template as<T>(),
          .y = call.result(0).template as<T>(),
          .rstd = call.result(1).template as<A>(),
          .cols = gain.type->num_elements(),
          .epsilon = static_cast<A>(call.attributes.real("epsilon"))};
}

template <typename T>
struct LayerNormGradRows {
  const T *x, *gain, *dy, *more;  // more may be null
  const Accumulator<T>*mean, *rstd;
  T* dx;
  int64_t cols;
};

template <typename T, typename Call>
LayerNormGradRows<T> rows_of_layer_norm_grad(const Call& call) {
  using A = Accumulator<T>;
  const auto gain = call.operand(1);
  return {.x = call.operand(0).template as<T>(),
          .gain = gain.template as<T>(),
          .dy = call.operand(4).template as<T>(),
          .more = call.operand(5) ? call.operand(5).template as<T>() : nullptr,
          .mean = call.operand(2).template as<A>(),
          .rstd = call.operand(3).template as<A>(),
          .dx = call.result(0).template as<T>(),
          .cols = gain.type->num_elements()};
}

template <typename T>
struct RmsNormGradRows {
  const T *x, *gain, *dy, *more;  // more may be null
  const Accumulator<T>* rstd;
  T* dx;
  int64_t cols;
};

template <typename T, typename Call>
RmsNormGradRows<T> rows_of_rms_norm_grad(const Call& call) {
  using A = Accumulator<T>;
  const auto gain = call.operand(1);
  return {.x = call.operand(0).template as<T>(),
          .gain = gain.template as<T>(),
          .dy = call.operand(3).template as<T>(),
          .more = call.operand(4) ? call.operand(4).template as<T>() : nullptr,
          .rstd = call.operand(2).template as<A>(),
          .dx = call.result(0).template as<T>(),
          .cols = gain.type->num_elements()};
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
