// SPDX-License-Identifier: Apache-2.0
// The activation at every element.
#include "ops/elementwise/activations_cuda.h"
#include "ops/elementwise/pointwise_cuda.h"

namespace tessera {
namespace {

struct Forward {
  template <typename A>
  __device__ static A apply(A x) {
    return DeviceRelu::value(x);
  }
};

}  // namespace

void relu_cuda(const CudaCall& call) { run_pointwise<Forward, false>(call); }

}  // namespace tessera
