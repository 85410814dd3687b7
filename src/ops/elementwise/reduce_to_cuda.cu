// SPDX-License-Identifier: Apache-2.0
// Chunks of rows are summed into partial rows, which are then added in order.
#include "ops/fixed_order_sums_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void sum_rows_kernel(const T* x, Accumulator<T>* partials, RowChunks chunks,
                                int64_t cols) {
  const int64_t c = first_index();
  if (c >= cols) return;
  const int64_t begin = blockIdx.y * chunks.rows_per_chunk;
  const int64_t end = min(chunks.rows, begin + chunks.rows_per_chunk);
  Accumulator<T> sum = 0;
  for (int64_t row = begin; row < end; ++row) sum += widen(x[row * cols + c]);
  partials[blockIdx.y * cols + c] = sum;
}

}  // namespace

void reduce_to_cuda(const CudaCall& call) {
  const TensorType &from = *call.operand(0).type, &to = *call.result(0).type;
  const int64_t cols = to.num_elements();
  const RowChunks chunks(from.num_elements() / cols);
  dispatch_float(from.dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    A* partials = reinterpret_cast<A*>(call.workspace.data());
    launch(call, chunk_grid(chunks, cols), sum_rows_kernel<T>,
           static_cast<const T*>(call.operand(0).as<T>()), partials, chunks, cols);
    dispatch_float(to.dtype, [&]<typename Y>() {
      add_partial_rows<A, Y>(call, partials, chunks.count(), cols, call.result(0).as<Y>(),
                             call.accumulates(0));
    });
  });
}

}  // namespace tessera
