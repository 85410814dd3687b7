// SPDX-License-Identifier: Apache-2.0
// One bias per column.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

template <typename T>
__global__ void bias_add_kernel(const T* x, const T* bias, T* y, int64_t count, int64_t cols) {
  for (int64_t i = first_index(); i < count; i += index_stride())
    y[i] = narrow<T>(widen(x[i]) + widen(bias[i % cols]));
}

}  // namespace

void bias_add_cuda(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  const int64_t count = type.num_elements(), cols = call.operand(1).type->num_elements();
  dispatch_float(type.dtype, [&]<typename T>() {
    launch(call, grid_for(count), bias_add_kernel<T>,
           static_cast<const T*>(call.operand(0).as<T>()),
           static_cast<const T*>(call.operand(1).as<T>()), call.result(0).as<T>(), count, cols);
  });
}

}  // namespace tessera
