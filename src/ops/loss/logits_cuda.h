// SPDX-License-Identifier: Apache-2.0
// Logits on a GPU in chunks of rows, and what follows from them. A block has one row; its sums
// follow the vocabulary's order and the number of threads, which is fixed.
#pragma once

#include "exec/cuda/matrix_products.h"
#include "ops/loss/mean_loss_cuda.h"
#include "ops/loss/output_loss.h"

namespace tessera {

inline constexpr int kLogitThreads = 512;

template <typename S>
struct RowSoftmax {
  S max, sum;
};

template <typename S>
__device__ RowSoftmax<S> softmax_of_row(const S* x, int64_t vocab) {
  const S lowest = -static_cast<S>(INFINITY);
  S max = lowest;
  for (int64_t i = threadIdx.x; i < vocab; i += blockDim.x) max = x[i] > max ? x[i] : max;
  max = block_max(max, lowest);
  S sum = 0;
  for (int64_t i = threadIdx.x; i < vocab; i += blockDim.x) sum += exp(x[i] - max);
  return {max, block_sum(sum)};
}

template <typename S>
__device__ double cross_entropy(const RowSoftmax<S>& softmax, S chosen) {
  return log(static_cast<double>(softmax.sum)) + static_cast<double>(softmax.max) -
         static_cast<double>(chosen);
}

// Calls chunk(first_row, rows, logits) for each chunk, whose logits are enqueued.
template <typename T, typename Chunk>
void for_each_chunk_of_logits(const CudaCall& call, const OutputLossSizes& s, Chunk&& chunk) {
  using S = Accumulator<T>;
  const T *x = call.operand(0).as<T>(), *table = call.operand(1).as<T>();
  S* logits = reinterpret_cast<S*>(call.workspace.data() + s.logits);
  for (int64_t first = 0; first < s.rows; first += s.chunk_rows) {
    const int64_t rows = std::min(s.chunk_rows, s.rows - first);
    call.products.enqueue({.m = rows,
                           .n = s.vocab,
                           .k = s.width,
                           .dtype = dtype_of<T>(),
                           .result_dtype = dtype_of<S>(),
                           .a = {x + first * s.width, s.width, false},
                           .b = {table, s.width, true},
                           .c = logits,
                           .c_stride = s.vocab},
                          call.stream);
    chunk(first, rows, logits);
  }
}

// Of the gradient of a chunk's logits, whose rows lie `stride` elements apart: its rows of dx
// (result 1) and its share of dtable (result 2).
template <typename T>
void logit_gradients_to_results(const CudaCall& call, const OutputLossSizes& s, int64_t first,
                                int64_t rows, const T* dlogits, int64_t stride) {
  using S = Accumulator<T>;
  const T *x = call.operand(0).as<T>(), *table = call.operand(1).as<T>();
  call.products.enqueue({.m = rows,
                         .n = s.width,
                         .k = s.vocab,
                         .dtype = dtype_of<T>(),
                         .result_dtype = dtype_of<T>(),
                         .a = {dlogits, stride, false},
                         .b = {table, s.width, false},
                         .c = call.result(1).as<T>() + first * s.width,
                         .c_stride = s.width},
                        call.stream);
  call.products.enqueue({.m = s.vocab,
                         .n = s.width,
                         .k = rows,
                         .dtype = dtype_of<T>(),
                         .result_dtype = dtype_of<S>(),
                         .a = {dlogits, stride, true},
                         .b = {x + first * s.width, s.width, false},
                         .c = call.result(2).as<S>(),
                         .c_stride = s.width,
                         .accumulate = first > 0 || call.accumulates(2)},
                        call.stream);
}

}  // namespace tessera
