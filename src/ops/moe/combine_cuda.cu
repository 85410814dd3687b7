// SPDX-License-Identifier: Apache-2.0
// By token: pieces of its rows are gathered, a few at a time, and added in order of k.
#include "exec/cuda/elements.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

constexpr int kAhead = 8;  // rows under way in a thread

template <int N, typename T>
__device__ inline Elements<T, N> sum_of_rows(const T* y, const int32_t* place, int64_t cols,
                                             int top_k) {
  Accumulator<T> sums[N] = {};
  for (int first = 0; first < top_k; first += kAhead) {
    Elements<T, N> ahead[kAhead];
    bool here[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int64_t row = first + k < top_k ? place[first + k] : -1;
      here[k] = row >= 0;
      if (here[k]) ahead[k] = load_elements<N>(y + row * cols);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      if (here[k])
        for (int j = 0; j < N; ++j) sums[j] += widen(ahead[k].values[j]);
  }
  return narrow_all<T>(sums);
}

template <int N, typename T>
__global__ void __launch_bounds__(kThreads)
    combine_kernel(const T* y, const int32_t* place, const Accumulator<T>* gate_rows, T* out,
                   Accumulator<T>* gates, int64_t cols, int top_k) {
  const int64_t token = blockIdx.x, first = token * top_k;
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  if (c < cols)
    store_elements(out + token * cols + c, sum_of_rows<N>(y + c, place + first, cols, top_k));
  if (!gate_rows || blockIdx.y > 0) return;
  for (int k = static_cast<int>(threadIdx.x); k < top_k; k += static_cast<int>(blockDim.x)) {
    const int64_t row = place[first + k];
    gates[first + k] = row < 0 ? Accumulator<T>{0} : gate_rows[row];
  }
}

template <int N, typename T>
void run_combine(const CudaCall& call, int64_t cols) {
  using A = Accumulator<T>;
  const TensorRef place = call.operand(2), gate_rows = call.operand(4);
  const int64_t top_k = place.type->dims.back().size;
  launch(call, row_piece_grid(place.type->num_elements() / top_k, cols, N), combine_kernel<N, T>,
         static_cast<const T*>(call.operand(0).as<T>()),
         static_cast<const int32_t*>(place.as<int32_t>()),
         static_cast<const A*>(gate_rows ? gate_rows.as<A>() : nullptr), call.result(0).as<T>(),
         gate_rows ? call.result(1).as<A>() : nullptr, cols, static_cast<int>(top_k));
}

}  // namespace

void combine_cuda(const CudaCall& call) {
  const TensorType& y = *call.operand(0).type;
  const int64_t cols = row_size(y);
  dispatch_float(y.dtype, [&]<typename T>() {
    if (cols % kElements<T> == 0)
      run_combine<kElements<T>, T>(call, cols);
    else
      run_combine<1, T>(call, cols);
  });
}

}  // namespace tessera
