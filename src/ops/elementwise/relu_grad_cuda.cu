// SPDX-License-Identifier: Apache-2.0
// The gradient where the unit was on.
#include "ops/elementwise/pointwise_cuda.h"

namespace tessera {
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
