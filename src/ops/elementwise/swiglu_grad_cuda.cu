// SPDX-License-Identifier: Apache-2.0
// With s = sigmoid(gate): d_up = dy * gate * s, d_gate = dy * up * (s + gate * s * (1 - s)).
#include "exec/cuda/kernel_launch.h"
#include "ops/elementwise/activations_cuda.h"

namespace tessera {
namespace {

// dh may lie over h.
template <typename T>
__global__ void swiglu_grad_kernel(const T* h, const T* dy, T* dh, int64_t count, int64_t cols) {
  using A = Accumulator<T>;
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    const int64_t row = i / cols, at = row * cols + i;
    const A gate = widen(h[at]), up = widen(h[at + cols]), d = widen(dy[i]);
    const A s = device_sigmoid(gate), silu = gate * s;
    dh[at] = narrow<T>(d * up * (s + silu * (1 - s)));
    dh[at + cols] = narrow<T>(d * silu);
  }
}

}  // namespace

void swiglu_grad_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(1).type;
  const int64_t count = type.num_elements();
  dispatch_float(type.dtype, [&]<typename T>() {
    launch(call, grid_for(count), swiglu_grad_kernel<T>,
           static_cast<const T*>(call.operand(0).as<T>()),
           static_cast<const T*>(call.operand(1).as<T>()), call.result(0).as<T>(), count,
           type.dims.back().size);
  });
}

}  // namespace tessera
