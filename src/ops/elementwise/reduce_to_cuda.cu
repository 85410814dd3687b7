// SPDX-License-Identifier: Apache-2.0
// A block sums some columns of a chunk of rows, a warp every eighth row of it; the chunks' sums are
// then added.
#include "exec/cuda/elements.h"
#include "ir/op_def.h"
#include "ops/fixed_order_sums_cuda.h"

namespace tessera {
namespace {

constexpr int kWarps = kThreads / 32;

// Depends only on sizes: about a thousand blocks, of 64 rows or more each.
struct ColumnSums {
  int64_t rows, cols, tiles, chunks, rows_per_chunk;

  ColumnSums(int64_t row_count, int64_t col_count, int elements)
      : rows(row_count), cols(col_count), tiles((cols + 32 * elements - 1) / (32 * elements)) {
    const int64_t wanted = std::max<int64_t>(1, 1024 / tiles);
    rows_per_chunk = std::max<int64_t>(64, (rows + wanted - 1) / wanted);
    chunks = (rows + rows_per_chunk - 1) / rows_per_chunk;
  }
};

int elements_of(DType dtype, int64_t cols) {
  const auto full = static_cast<int>(16 / size_bytes(dtype));
  return cols % full == 0 ? full : 1;
}

template <int N, typename T>
__global__ void __launch_bounds__(kThreads)
    sum_columns_kernel(const T* x, Accumulator<T>* partials, ColumnSums s) {
  using A = Accumulator<T>;
  __shared__ A parts[kWarps][32 * N];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * 32 * N, c = first + lane * N;
  const int64_t begin = blockIdx.y * s.rows_per_chunk;
  const int64_t end = min(s.rows, begin + s.rows_per_chunk);
  A sums[N] = {};
  if (c < s.cols) {
#pragma unroll 8
    for (int64_t row = begin + warp; row < end; row += kWarps) {
      const Elements<T, N> values = load_elements<N>(x + row * s.cols + c);
      for (int j = 0; j < N; ++j) sums[j] += widen(values.values[j]);
    }
  }
  for (int j = 0; j < N; ++j) parts[warp][lane * N + j] = sums[j];
  __syncthreads();
  for (int i = threadIdx.x; i < 32 * N && first + i < s.cols; i += kThreads) {
    A sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += parts[w][i];
    partials[blockIdx.y * s.cols + first + i] = sum;
  }
}

template <int N, typename T>
void sum_columns(const CudaCall& call, const ColumnSums& sums) {
  launch(call,
         {.blocks = dim3(static_cast<unsigned>(sums.tiles), static_cast<unsigned>(sums.chunks)),
          .threads = kThreads},
         sum_columns_kernel<N, T>, static_cast<const T*>(call.operand(0).as<T>()),
         reinterpret_cast<Accumulator<T>*>(call.workspace.data()), sums);
}

}  // namespace

void reduce_to_cuda(const CudaCall& call) {
  const TensorType &from = *call.operand(0).type, &to = *call.result(0).type;
  const int64_t cols = to.num_elements();
  const int elements = elements_of(from.dtype, cols);
  const ColumnSums sums(from.num_elements() / cols, cols, elements);
  dispatch_float(from.dtype, [&]<typename T>() {
    if (elements == 1)
      sum_columns<1, T>(call, sums);
    else
      sum_columns<kElements<T>, T>(call, sums);
    using A = Accumulator<T>;
    dispatch_float(to.dtype, [&]<typename Y>() {
      add_partial_rows<A, Y>(call, sums.chunks, cols,
                             {reinterpret_cast<const A*>(call.workspace.data()),
                              call.result(0).as<Y>(), call.accumulates(0)});
    });
  });
}

int64_t reduce_to_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  const TensorType& from = call.operand(0);
  const int64_t cols = call.result(0).num_elements();
  const ColumnSums sums(from.num_elements() / cols, cols, elements_of(from.dtype, cols));
  return sums.chunks * cols * size_bytes(accumulator_of(from.dtype));
}

}  // namespace tessera
