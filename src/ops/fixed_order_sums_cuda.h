// SPDX-License-Identifier: Apache-2.0
// Sums on a GPU whose order depends on sizes alone: partial rows added in order, and many doubles
// added by one block.
#pragma once

#include "exec/cuda/kernel_launch.h"
#include "ops/row_ranges.h"

namespace tessera {

// out[c] = (what was there, if `accumulate`) + partials[0][c] + partials[1][c] + ...
template <typename A, typename T>
__global__ void add_partial_rows_kernel(const A* partials, int64_t count, int64_t cols, T* out,
                                        bool accumulate) {
  const int64_t c = first_index();
  if (c >= cols) return;
  A sum = 0;
  for (int64_t chunk = 0; chunk < count; ++chunk) sum += partials[chunk * cols + c];
  const auto before = accumulate ? widen(out[c]) : Accumulator<T>{0};
  out[c] = narrow<T>(before + static_cast<Accumulator<T>>(sum));
}

template <typename A, typename T>
void add_partial_rows(const CudaCall& call, const A* partials, int64_t count, int64_t cols, T* out,
                      bool accumulate) {
  launch(call, {.blocks = blocks_for(cols, 128), .threads = 128}, add_partial_rows_kernel<A, T>,
         partials, count, cols, out, accumulate);
}

// One column per thread, one chunk of rows per block of the second dimension.
inline Grid chunk_grid(const RowChunks& chunks, int64_t cols) {
  return {.blocks = dim3(blocks_for(cols, 128), static_cast<unsigned>(chunks.count())),
          .threads = 128};
}

// By one block: the sum of `count` doubles, in every thread.
__device__ inline double sum_of_doubles(const double* values, int64_t count) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += values[i];
  return block_sum(sum);
}

}  // namespace tessera
