// SPDX-License-Identifier: Apache-2.0
// For CUDA kernels alone: elements that lie together, moved 16 bytes at a time and rounded to bf16
// two at a time.
#pragma once

#include <algorithm>

#include "exec/cuda/kernel_launch.h"

namespace tessera {

template <typename T, int N>
struct alignas(std::min<size_t>(16, N * sizeof(T))) Elements {
  static constexpr int kSize = N;
  T values[N];
};

// As many as the narrowest of the types has in 16 bytes.
template <typename... T>
inline constexpr int kElements = static_cast<int>(16 / std::min({sizeof(T)...}));

template <typename T>
using Pack = Elements<T, kElements<T>>;

template <int N, typename T>
__device__ inline Elements<T, N> load_elements(const T* from) {
  return *reinterpret_cast<const Elements<T, N>*>(from);
}
template <int N, typename T>
__device__ inline void store_elements(T* to, const Elements<T, N>& from) {
  *reinterpret_cast<Elements<T, N>*>(to) = from;
}

template <typename T, int N>
__device__ inline Elements<T, N> narrow_all(const Accumulator<T> (&values)[N]) {
  Elements<T, N> narrowed;
  if constexpr (std::is_same_v<T, Bf16> && N % 2 == 0) {
    auto* pairs = reinterpret_cast<__nv_bfloat162*>(narrowed.values);
#pragma unroll
    for (int j = 0; j < N / 2; ++j)
      pairs[j] = __floats2bfloat162_rn(values[2 * j], values[2 * j + 1]);
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j) narrowed.values[j] = narrow<T>(values[j]);
  }
  return narrowed;
}

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

// A thread for every `elements` of a row: rows by the grid's x, pieces of a row by its y.
inline Grid row_piece_grid(int64_t rows, int64_t cols, int elements) {
  const int64_t wanted = (cols + elements - 1) / elements;
  const auto threads = static_cast<int>(std::clamp<int64_t>((wanted + 31) / 32 * 32, 32, kThreads));
  return {.blocks = dim3(static_cast<unsigned>(rows), blocks_for(wanted, threads)),
          .threads = threads};
}

}  // namespace tessera
