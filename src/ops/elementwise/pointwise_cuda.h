// SPDX-License-Identifier: Apache-2.0
// The loop of all CUDA kernels whose result i depends only on element i of their operands, 16 bytes
// at a time. A result may be exactly in place of an operand: a thread reads all that it needs
// before it writes.
#pragma once

#include "exec/cuda/elements.h"

namespace tessera {

// The value of f in the accumulator's type, added to what was there with kAdd.
template <bool kTwo, bool kAdd, typename F, typename X, typename X2, typename Y>
__device__ inline Y pointwise_value(const F& f, X x, X2 x2, Y before) {
  using A = Accumulator<Y>;
  A value;
  if constexpr (kTwo)
    value = f.apply(static_cast<A>(widen(x)), static_cast<A>(widen(x2)));
  else
    value = f.apply(static_cast<A>(widen(x)));
  if constexpr (kAdd) value = widen(before) + value;
  return narrow<Y>(value);
}

// One access per thread; the last thread has what is left over.
template <bool kTwo, bool kAdd, typename F, typename X, typename X2, typename Y>
__global__ void __launch_bounds__(kThreads)
    pointwise_kernel(F f, const X* x, const X2* x2, Y* y, int64_t count) {
  constexpr int N = kElements<X, X2, Y>;
  const int64_t at = first_index() * N;
  if (at + N <= count) {
    const Elements<X, N> a = load_elements<N>(x + at);
    Elements<X2, N> b = {};
    Elements<Y, N> out = {};
    if constexpr (kTwo) b = load_elements<N>(x2 + at);
    if constexpr (kAdd) out = load_elements<N>(y + at);
    for (int j = 0; j < N; ++j)
      out.values[j] = pointwise_value<kTwo, kAdd>(f, a.values[j], b.values[j], out.values[j]);
    store_elements(y + at, out);
  } else {
    for (int64_t i = at; i < count; ++i)
      y[i] = pointwise_value<kTwo, kAdd>(f, x[i], kTwo ? x2[i] : X2{}, y[i]);
  }
}

// f.apply takes one element, or two with kTwo, in the result's accumulator type.
template <bool kTwo, bool kAdd, typename F, typename X, typename X2, typename Y>
void launch_pointwise(const CudaCall& call, const F& f, const X* x, const X2* x2, Y* y,
                      int64_t count) {
  launch(
      call,
      {.blocks = blocks_for(count, int64_t{kThreads} * kElements<X, X2, Y>), .threads = kThreads},
      pointwise_kernel<kTwo, kAdd, F, X, X2, Y>, f, x, x2, y, count);
}

// Operands and result of one dtype; kAdd adds into the result.
template <typename F, bool kTwo, bool kAdd = false>
void run_pointwise(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    const T* x2 = kTwo ? call.operand(1).as<T>() : nullptr;
    launch_pointwise<kTwo, kAdd>(call, F{}, static_cast<const T*>(call.operand(0).as<T>()), x2,
                                 call.result(0).as<T>(), type.num_elements());
  });
}

}  // namespace tessera
