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

// The gradient where the unit was on.
namespace {

struct Backward {
  template <typename A>
  __device__ static A apply(A y, A dy) {
    return y > 0 ? dy : A{0};
  }
};

}  // namespace

void relu_grad_cuda(const CudaCall& call) { run_pointwise<Backward, true>(call); }

}  // namespace tessera
