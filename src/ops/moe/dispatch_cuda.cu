// SPDX-License-Identifier: Apache-2.0
// By token: a piece of its row is read once and written to each of its places. No two choices have
// the same place.
#include "exec/cuda/elements.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

template <int N, typename T>
__global__ void __launch_bounds__(kThreads)
    dispatch_kernel(const T* x, const int32_t* place, const Accumulator<T>* gates, T* rows,
                    Accumulator<T>* gate_rows, int64_t cols, int top_k) {
  const int64_t token = blockIdx.x, first = token * top_k;
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  if (c < cols) {
    const Elements<T, N> piece = load_elements<N>(x + token * cols + c);
#pragma unroll 4
    for (int k = 0; k < top_k; ++k) {
      const int64_t row = place[first + k];
      if (row >= 0) store_elements(rows + row * cols + c, piece);
    }
  }
  if (!gates || blockIdx.y > 0) return;
  for (int k = static_cast<int>(threadIdx.x); k < top_k; k += static_cast<int>(blockDim.x))
    if (place[first + k] >= 0) gate_rows[place[first + k]] = gates[first + k];
}

template <int N, typename T>
void run_dispatch(const CudaCall& call, int64_t tokens, int64_t cols) {
  using A = Accumulator<T>;
  const TensorRef place = call.operand(2), gates = call.operand(4);
  launch(call, row_piece_grid(tokens, cols, N), dispatch_kernel<N, T>,
         static_cast<const T*>(call.operand(0).as<T>()),
         static_cast<const int32_t*>(place.as<int32_t>()),
         static_cast<const A*>(gates ? gates.as<A>() : nullptr), call.result(0).as<T>(),
         gates ? call.result(1).as<A>() : nullptr, cols,
         static_cast<int>(place.type->dims.back().size));
}

}  // namespace

void dispatch_cuda(const CudaCall& call) {
  const TensorType &x = *call.operand(0).type, &place = *call.operand(2).type;
  const int64_t tokens = place.num_elements() / place.dims.back().size,
                cols = x.num_elements() / tokens;
  dispatch_float(x.dtype, [&]<typename T>() {
    if (cols % kElements<T> == 0)
      run_dispatch<kElements<T>, T>(call, tokens, cols);
    else
      run_dispatch<1, T>(call, tokens, cols);
  });
}

}  // namespace tessera
