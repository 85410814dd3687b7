// SPDX-License-Identifier: Apache-2.0
// One bias per column; a thread keeps those of its columns and iterates over the rows.
#include "exec/cuda/elements.h"

namespace tessera {
namespace {

constexpr int kRowsPerBlock = 32;

template <int N, typename T>
__global__ void bias_add_kernel(const T* x, const T* bias, T* y, int64_t rows, int64_t cols) {
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  if (c >= cols) return;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kRowsPerBlock;
  const int64_t end = min(rows, begin + kRowsPerBlock);
  const Elements<T, N> added = load_elements<N>(bias + c);
#pragma unroll 4
  for (int64_t row = begin; row < end; ++row) {
    Elements<T, N> values = load_elements<N>(x + row * cols + c);
    for (int j = 0; j < N; ++j)
      values.values[j] = narrow<T>(widen(values.values[j]) + widen(added.values[j]));
    store_elements(y + row * cols + c, values);
  }
}

template <int N, typename T>
void run_bias_add(const CudaCall& call) {
  const int64_t cols = call.operand(1).type->num_elements();
  const int64_t rows = call.result(0).type->num_elements() / cols;
  launch(call,
         {.blocks = dim3(blocks_for(rows, kRowsPerBlock), blocks_for(cols, int64_t{128} * N)),
          .threads = 128},
         bias_add_kernel<N, T>, static_cast<const T*>(call.operand(0).as<T>()),
         static_cast<const T*>(call.operand(1).as<T>()), call.result(0).as<T>(), rows, cols);
}

}  // namespace

void bias_add_cuda(const CudaCall& call) {
  dispatch_float(call.result(0).type->dtype, [&]<typename T>() {
    if (call.operand(1).type->num_elements() % kElements<T> == 0)
      run_bias_add<kElements<T>, T>(call);
    else
      run_bias_add<1, T>(call);
  });
}

}  // namespace tessera
