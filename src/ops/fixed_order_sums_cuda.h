// SPDX-License-Identifier: Apache-2.0
// Sums on a GPU whose order depends only on sizes: of partial rows, and of many doubles by one
// block.
#pragma once

#include "exec/cuda/kernel_launch.h"
#include "ops/row_ranges.h"

namespace tessera {

// out[c] = (what was there, if `accumulate`) + the sum over rows of partials[.][c].
template <typename A, typename T>
struct RowTotals {
  const A* partials = nullptr;
  T* out = nullptr;
  bool accumulate = false;
};

// A warp has every 32nd row of 32 columns; its sums are then added over the warps.
template <typename A, typename T>
__global__ void __launch_bounds__(1024)
    add_partial_rows_kernel(int64_t count, int64_t cols, RowTotals<A, T> first_of,
                            RowTotals<A, T> second_of) {
  __shared__ A parts[32][33];
  const RowTotals<A, T>& totals = blockIdx.y == 0 ? first_of : second_of;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * 32;
  const A* partials = totals.partials + first + lane;
  A sum = 0;
  if (first + lane < cols)
#pragma unroll 8
    for (int64_t row = warp; row < count; row += 32) sum += partials[row * cols];
  parts[warp][lane] = sum;
  __syncthreads();
  const A total = warp_sum(parts[lane][warp]);
  const int64_t c = first + warp;
  if (lane > 0 || c >= cols) return;
  const auto before = totals.accumulate ? widen(totals.out[c]) : Accumulator<T>{0};
  totals.out[c] = narrow<T>(before + static_cast<Accumulator<T>>(total));
}

// Of `count` rows each; the second one is optional.
template <typename A, typename T>
void add_partial_rows(const CudaCall& call, int64_t count, int64_t cols,
                      const RowTotals<A, T>& first, const RowTotals<A, T>& second = {}) {
  launch(call, {.blocks = dim3(blocks_for(cols, 32), second.out ? 2 : 1), .threads = 1024},
         add_partial_rows_kernel<A, T>, count, cols, first, second);
}

// By one block: the sum of `count` doubles, in every thread.
__device__ inline double sum_of_doubles(const double* values, int64_t count) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += values[i];
  return block_sum(sum);
}

}  // namespace tessera
