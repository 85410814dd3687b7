// SPDX-License-Identifier: Apache-2.0
// One pass, bound by memory.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

template <typename T>
__global__ void moving_average_kernel(const Accumulator<T>* average, const T* weights,
                                      Accumulator<T>* result, Accumulator<T> decay, int64_t count) {
  const Accumulator<T> rest = 1 - decay;
  for (int64_t i = first_index(); i < count; i += index_stride())
    result[i] = decay * average[i] + rest * widen(weights[i]);
}

}  // namespace

void moving_average_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(1).type;
  const int64_t count = type.num_elements();
  dispatch_float(type.dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    launch(call, grid_for(count), moving_average_kernel<T>,
           static_cast<const A*>(call.operand(0).as<A>()),
           static_cast<const T*>(call.operand(1).as<T>()), call.result(0).as<A>(),
           static_cast<A>(call.attributes.real("decay")), count);
  });
}

}  // namespace tessera
