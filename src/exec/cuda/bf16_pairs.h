// SPDX-License-Identifier: Apache-2.0
// Packs of elements where bf16 goes two at a time.
#pragma once

#include <cuda_bf16.h>

#include "exec/cuda/kernel_launch.h"

namespace tessera {

template <typename T>
__device__ inline Accumulator<T> largest_of(const Pack<T>& pack) {
  Accumulator<T> max = widen(pack.values[0]);
  for (int j = 1; j < Pack<T>::kSize; ++j)
    max = widen(pack.values[j]) > max ? widen(pack.values[j]) : max;
  return max;
}
template <>
__device__ inline float largest_of(const Pack<Bf16>& pack) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(pack.values);
  const __nv_bfloat162 max = __hmax2(__hmax2(pairs[0], pairs[1]), __hmax2(pairs[2], pairs[3]));
  return fmaxf(__low2float(max), __high2float(max));
}

template <typename T>
__device__ inline Pack<T> narrow_all(const Accumulator<T> (&values)[Pack<T>::kSize]) {
  Pack<T> pack;
  for (int j = 0; j < Pack<T>::kSize; ++j) pack.values[j] = values[j];
  return pack;
}
template <>
__device__ inline Pack<Bf16> narrow_all<Bf16>(const float (&values)[8]) {
  Pack<Bf16> pack;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(pack.values);
  for (int j = 0; j < 4; ++j) pairs[j] = __floats2bfloat162_rn(values[2 * j], values[2 * j + 1]);
  return pack;
}

}  // namespace tessera
