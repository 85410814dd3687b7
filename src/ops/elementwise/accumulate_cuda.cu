// SPDX-License-Identifier: Apache-2.0
// Copies, casts or adds, element by element.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

template <typename X, typename Y>
__global__ void accumulate_kernel(const X* x, Y* y, int64_t count, bool accumulate) {
  using A = Accumulator<Y>;
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    const A value = static_cast<A>(widen(x[i]));
    y[i] = narrow<Y>(accumulate ? widen(y[i]) + value : value);
  }
}

}  // namespace

void accumulate_cuda(const CudaCall& call) {
  const TensorRef from = call.operand(0), to = call.result(0);
  const int64_t count = to.type->num_elements();
  dispatch_float(from.type->dtype, [&]<typename X>() {
    dispatch_float(to.type->dtype, [&]<typename Y>() {
      launch(call, grid_for(count), accumulate_kernel<X, Y>, static_cast<const X*>(from.as<X>()),
             to.as<Y>(), count, call.accumulates(0));
    });
  });
}

}  // namespace tessera
