// SPDX-License-Identifier: Apache-2.0
// The largest |x|. The bits of numbers without a sign are in the numbers' order: an atomic maximum
// of integers gives the same in whatever order blocks come.
#pragma once

#include "exec/cuda/elements.h"

namespace tessera {

// The larger of `largest` and all |elements|.
template <typename T, int N>
__device__ inline float larger_entry(float largest, const Elements<T, N>& elements) {
  if constexpr (std::is_same_v<T, Bf16> && N % 2 == 0) {
    const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(elements.values);
    __nv_bfloat162 max = __habs2(pairs[0]);
    for (int j = 1; j < N / 2; ++j) max = __hmax2(max, __habs2(pairs[j]));
    return fmaxf(largest, fmaxf(__low2float(max), __high2float(max)));
  } else {
    for (int j = 0; j < N; ++j)
      largest = fmaxf(largest, fabsf(static_cast<float>(widen(elements.values[j]))));
    return largest;
  }
}

inline void clear_largest_entry(const CudaCall& call, const TensorRef& largest) {
  check_cuda(
      cudaMemsetAsync(largest.data, 0, static_cast<size_t>(largest.type->bytes()), call.stream),
      "clear the largest entry");
}

// By all threads of a block, with the largest that each has seen.
__device__ inline void raise_largest_entry(float own, float* largest) {
  own = block_max(own, 0.0f);
  if (threadIdx.x == 0 && own > *static_cast<volatile float*>(largest))
    atomicMax(reinterpret_cast<unsigned*>(largest), __float_as_uint(own));
}

// The rows of a tensor that count, in memory; null: all.
struct UsedRows {
  const int32_t* rows = nullptr;
  int64_t row_size = 0;
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    largest_entry_kernel(const T* x, int64_t count, UsedRows used, float* largest) {
  constexpr int N = kElements<T>;
  if (used.rows) count = *used.rows * used.row_size;
  const int64_t packs = count / N;
  float own = 0;
#pragma unroll 4
  for (int64_t i = first_index(); i < packs; i += index_stride())
    own = larger_entry(own, load_elements<N>(x + i * N));
  for (int64_t i = packs * N + first_index(); i < count; i += index_stride())
    own = fmaxf(own, fabsf(static_cast<float>(widen(x[i]))));
  raise_largest_entry(own, largest);
}

inline void find_largest_entry(const CudaCall& call, const TensorRef& x, const TensorRef& largest,
                               UsedRows used = {}) {
  constexpr int64_t kMostLargestBlocks = 1056;  // eight for each of an H200's multiprocessors
  clear_largest_entry(call, largest);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    const int64_t count = x.type->num_elements();
    const auto blocks = std::clamp<int64_t>(blocks_for(count, int64_t{4} * kThreads * kElements<T>),
                                            1, kMostLargestBlocks);
    launch(call, {.blocks = static_cast<unsigned>(blocks), .threads = kThreads},
           largest_entry_kernel<T>, static_cast<const T*>(x.as<T>()), count, used,
           largest.as<float>());
  });
}

}  // namespace tessera
