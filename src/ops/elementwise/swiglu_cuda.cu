// SPDX-License-Identifier: Apache-2.0
// A row of h is a row of gates followed by a row of ups.
#include "exec/cuda/kernel_launch.h"
#include "ops/elementwise/activations_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void swiglu_kernel(const T* h, T* y, int64_t count, int64_t cols) {
  using A = Accumulator<T>;
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    const int64_t row = i / cols, at = row * cols + i;
    const A gate = widen(h[at]);
    y[i] = narrow<T>(gate * device_sigmoid(gate) * widen(h[at + cols]));
  }
}

}  // namespace

void swiglu_cuda(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  const int64_t count = type.num_elements();
  dispatch_float(type.dtype, [&]<typename T>() {
    launch(call, grid_for(count), swiglu_kernel<T>, static_cast<const T*>(call.operand(0).as<T>()),
           call.result(0).as<T>(), count, type.dims.back().size);
  });
}

}  // namespace tessera
