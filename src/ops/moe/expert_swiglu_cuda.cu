// SPDX-License-Identifier: Apache-2.0
// A row of h is a row of gates followed by a row of ups. A block has a piece of one row; those of
// rows after the last end have nothing to do.
#include "exec/cuda/elements.h"
#include "ops/elementwise/activations_cuda.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

template <int N, typename T>
__global__ void __launch_bounds__(kThreads)
    expert_swiglu_kernel(const T* h, const Accumulator<T>* weights, const int32_t* last_end, T* a,
                         int64_t cols) {
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  const int64_t row = blockIdx.x;
  if (row >= *last_end || c >= cols) return;
  const Elements<T, N> gates = load_elements<N>(h + 2 * row * cols + c);
  const Elements<T, N> ups = load_elements<N>(h + (2 * row + 1) * cols + c);
  const Accumulator<T> weight = weights[row];
  Accumulator<T> values[N];
  for (int j = 0; j < N; ++j) {
    const Accumulator<T> gate = widen(gates.values[j]);
    values[j] = gate * device_sigmoid(gate) * widen(ups.values[j]) * weight;
  }
  store_elements(a + row * cols + c, narrow_all<T>(values));
}

template <int N, typename T>
void run_expert_swiglu(const CudaCall& call, int64_t cols) {
  using A = Accumulator<T>;
  const TensorType& type = *call.result(0).type;
  const int32_t* ends = call.operand(2).as<int32_t>();
  launch(call, row_piece_grid(pool_rows(type), cols, N), expert_swiglu_kernel<N, T>,
         static_cast<const T*>(call.operand(0).as<T>()),
         static_cast<const A*>(call.operand(1).as<A>()), ends + type.dims[0].size - 1,
         call.result(0).as<T>(), cols);
}

}  // namespace

void expert_swiglu_cuda(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  const int64_t cols = row_size(type);
  dispatch_float(type.dtype, [&]<typename T>() {
    if (cols % kElements<T> == 0)
      run_expert_swiglu<kElements<T>, T>(call, cols);
    else
      run_expert_swiglu<1, T>(call, cols);
  });
}

}  // namespace tessera
