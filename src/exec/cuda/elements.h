// SPDX-License-Identifier: Apache-2.0
// For CUDA kernels alone: elements that lie together, moved 16 bytes at a time.
#pragma once

#include <algorithm>

#include "exec/cuda/kernel_launch.h"

namespace tessera {

template <typename T, int N>
struct alignas(std::min<size_t>(16, N * sizeof(T))) Elements {
  T values[N];
};

template <int N, typename T>
__device__ inline Elements<T, N> load_elements(const T* from) {
  return *reinterpret_cast<const Elements<T, N>*>(from);
}
template <int N, typename T>
__device__ inline void store_elements(T* to, const Elements<T, N>& from) {
  *reinterpret_cast<Elements<T, N>*>(to) = from;
}

// As many as the narrowest of the types has in 16 bytes.
template <typename... T>
inline constexpr int kElements = static_cast<int>(16 / std::min({sizeof(T)...}));

// A thread for every `elements` of a row: rows by the grid's x, pieces of a row by its y.
inline Grid row_piece_grid(int64_t rows, int64_t cols, int elements) {
  const int64_t wanted = (cols + elements - 1) / elements;
  const auto threads = static_cast<int>(std::clamp<int64_t>((wanted + 31) / 32 * 32, 32, kThreads));
  return {.blocks = dim3(static_cast<unsigned>(rows), blocks_for(wanted, threads)),
          .threads = threads};
}

}  // namespace tessera
