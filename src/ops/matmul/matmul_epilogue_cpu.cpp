// SPDX-License-Identifier: Apache-2.0
// The core that computed a tile applies bias and activation, or the derivative of the activation.
// Each step is rounded to the dtype as if it were a separate op.
#define HWY_TARGET_INCLUDE "ops/matmul/matmul_epilogue_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/elementwise/activations_cpu.h"
#include "ops/matmul/epilogue_activation.h"
#include "ops/matmul/finished_rows_cpu.h"
#include "ops/matmul/product_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

struct Identity {
  template <typename V>
  TESSERA_INLINE static V value(const V& x) {
    return x;
  }
};

// pre += bias; y = activation(pre), or addend + pre. `pre` may be `y` itself.
template <typename Activation, typename T>
void finish_row(T* pre, const T* bias, const T* addend, T* y, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    if (bias) pre[i] = store<T>(load(pre[i]) + load(bias[i]));
    y[i] = store<T>(Activation::value(load(pre[i])));
    if (addend) y[i] = store<T>(load(addend[i]) + load(y[i]));
  }
}

template <typename Activation, typename T>
void multiply(const CpuCall& call) {
  const TensorRef y = call.result(0), pre = call.result(1) ? call.result(1) : y;
  const T* bias = call.operand(2) ? call.operand(2).as<T>() : nullptr;
  const T* addend = call.operand(3) ? call.operand(3).as<T>() : nullptr;
  Gemm<T, T, T> g = product_of<T, T>(call, pre);
  const FinishedRows epilogue(g.n, [&](int64_t at, int64_t column, int64_t count) {
    finish_row<Activation>(g.c + at, bias ? bias + column : nullptr, addend ? addend + at : nullptr,
                           y.as<T>() + at, count);
  });
  g.tile_done = &epilogue;
  gemm(g, call.threads, call.workspace);
}

template <typename Activation, typename T>
void times_slope(T* y, const T* pre, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i)
    y[i] = store<T>(TimesSlope<Activation>::apply(load(pre[i]), load(y[i])));
}

template <typename Activation, typename T>
void multiply_gradient(const CpuCall& call) {
  const T* pre = call.operand(2).as<T>();
  Gemm<T, T, T> g = product_of<T, T>(call, call.result(0));
  const FinishedRows epilogue(g.n, [&](int64_t at, int64_t, int64_t count) {
    times_slope<Activation>(g.c + at, pre + at, count);
  });
  g.tile_done = &epilogue;
  gemm(g, call.threads, call.workspace);
}

}  // namespace

void matmul_epilogue_cpu(const CpuCall& call) {
  const auto activation = find_activation(call.attributes.word("activation"));
  TESSERA_CHECK(activation.has_value());
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    switch (*activation) {
      case EpilogueActivation::None:
        return multiply<Identity, T>(call);
      case EpilogueActivation::Relu:
        return multiply<Relu, T>(call);
      case EpilogueActivation::Gelu:
        return multiply<GeluExact, T>(call);
      case EpilogueActivation::GeluTanh:
        return multiply<GeluTanh, T>(call);
      case EpilogueActivation::GeluGrad:
        return multiply_gradient<GeluExact, T>(call);
      case EpilogueActivation::GeluTanhGrad:
        return multiply_gradient<GeluTanh, T>(call);
    }
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(matmul_epilogue_cpu)
}  // namespace tessera
#endif
