// SPDX-License-Identifier: Apache-2.0
// The contraction as one cuBLASLt matmul, which adds the addend if there is one.
#include "exec/cuda/kernel_launch.h"
#include "ops/matmul/product_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void add_kernel(const T* addend, int64_t count, T* y) {
  for (int64_t i = first_index(); i < count; i += index_stride())
    y[i] = narrow<T>(widen(addend[i]) + widen(y[i]));
}

}  // namespace

void matmul_cuda(const CudaCall& call) {
  const TensorRef addend = call.operand(2), y = call.result(0);
  DeviceProduct product = product_of(call, y);
  if (!product.accumulate) product.addend = addend.data;
  call.products.enqueue(product, call.stream);
  if (!addend || !product.accumulate) return;
  const int64_t count = y.type->num_elements();
  dispatch_float(y.type->dtype, [&]<typename T>() {
    launch(call, grid_for(count), add_kernel<T>, static_cast<const T*>(addend.as<T>()), count,
           y.as<T>());
  });
}

}  // namespace tessera
