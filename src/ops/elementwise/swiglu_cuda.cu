// SPDX-License-Identifier: Apache-2.0
// A row of h is a row of gates followed by a row of ups. A block has a piece of one row.
#include "exec/cuda/elements.h"
#include "ops/elementwise/activations_cuda.h"

namespace tessera {
namespace {

template <int N, typename T>
__global__ void swiglu_kernel(const T* h, T* y, int64_t cols) {
  using A = Accumulator<T>;
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  if (c >= cols) return;
  const int64_t row = blockIdx.x;
  const Elements<T, N> gates = load_elements<N>(h + 2 * row * cols + c);
  const Elements<T, N> ups = load_elements<N>(h + (2 * row + 1) * cols + c);
  Elements<T, N> out;
  for (int j = 0; j < N; ++j) {
    const A gate = widen(gates.values[j]);
    out.values[j] = narrow<T>(gate * device_sigmoid(gate) * widen(ups.values[j]));
  }
  store_elements(y + row * cols + c, out);
}

template <int N, typename T>
void run_swiglu(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  const int64_t cols = type.dims.back().size;
  launch(call, row_piece_grid(type.num_elements() / cols, cols, N), swiglu_kernel<N, T>,
         static_cast<const T*>(call.operand(0).as<T>()), call.result(0).as<T>(), cols);
}

}  // namespace

void swiglu_cuda(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    if (type.dims.back().size % kElements<T> == 0)
      run_swiglu<kElements<T>, T>(call);
    else
      run_swiglu<1, T>(call);
  });
}

}  // namespace tessera
