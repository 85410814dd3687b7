// SPDX-License-Identifier: Apache-2.0
// Slope times gradient, by either formula.
#include "ops/elementwise/activations_cuda.h"
#include "ops/elementwise/pointwise_cuda.h"

namespace tessera {
namespace {

template <typename Activation>
struct Backward {
  template <typename A>
  __device__ static A apply(A x, A dy) {
    return Activation::slope(x) * dy;
  }
};

}  // namespace

void gelu_grad_cuda(const CudaCall& call) {
  if (call.attributes.word("approximation") == "tanh")
    run_pointwise<Backward<DeviceGeluTanh>, true>(call);
  else
    run_pointwise<Backward<DeviceGeluExact>, true>(call);
}

}  // namespace tessera
