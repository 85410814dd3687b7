// SPDX-License-Identifier: Apache-2.0
// The one loop of every CUDA kernel whose result i depends on element i of its operands alone, 16
// bytes at a time. A result may lie exactly over an operand.
#pragma once

#include "exec/cuda/kernel_launch.h"

namespace tessera {

template <typename F, bool kTwo, bool kAdd, typename T>
__device__ inline T pointwise_value(T x, T x2, T before) {
  using A = Accumulator<T>;
  A value;
  if constexpr (kTwo)
    value = F::apply(widen(x), widen(x2));
  else
    value = F::apply(widen(x));
  if constexpr (kAdd) value = widen(before) + value;
  return narrow<T>(value);
}

template <typename F, bool kTwo, bool kAdd, typename T>
__global__ void pointwise_kernel(const T* x, const T* x2, T* y, int64_t count) {
  constexpr int64_t kSize = Pack<T>::kSize;
  const int64_t packs = count / kSize;
  for (int64_t i = first_index(); i < packs; i += index_stride()) {
    const Pack<T> a = reinterpret_cast<const Pack<T>*>(x)[i];
    Pack<T> b = a, out = a;
    if constexpr (kTwo) b = reinterpret_cast<const Pack<T>*>(x2)[i];
    if constexpr (kAdd) out = reinterpret_cast<const Pack<T>*>(y)[i];
    for (int j = 0; j < kSize; ++j)
      out.values[j] = pointwise_value<F, kTwo, kAdd>(a.values[j], b.values[j], out.values[j]);
    reinterpret_cast<Pack<T>*>(y)[i] = out;
  }
  for (int64_t i = packs * kSize + first_index(); i < count; i += index_stride())
    y[i] = pointwise_value<F, kTwo, kAdd>(x[i], kTwo ? x2[i] : x[i], kAdd ? y[i] : x[i]);
}

// F::apply takes one element, or two with kTwo, in the accumulator's type; kAdd adds into the
// result.
template <typename F, bool kTwo, bool kAdd = false>
void run_pointwise(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    const T* x2 = kTwo ? call.operand(1).as<T>() : nullptr;
    const int64_t count = type.num_elements();
    launch(call, grid_for(count / Pack<T>::kSize + 1), pointwise_kernel<F, kTwo, kAdd, T>,
           static_cast<const T*>(call.operand(0).as<T>()), x2, call.result(0).as<T>(), count);
  });
}

}  // namespace tessera
