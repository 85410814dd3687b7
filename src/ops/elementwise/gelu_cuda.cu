// SPDX-License-Identifier: Apache-2.0
// The activation at every element, by either formula.
#include "ops/elementwise/activations_cuda.h"
#include "ops/elementwise/pointwise_cuda.h"

namespace tessera {
namespace {

template <typename Activation>
struct Forward {
  template <typename A>
  __device__ static A apply(A x) {
    return Activation::value(x);
  }
};

}  // namespace

void gelu_cuda(const CudaCall& call) {
  if (call.attributes.word("approximation") == "tanh")
    run_pointwise<Forward<DeviceGeluTanh>, false>(call);
  else
    run_pointwise<Forward<DeviceGeluExact>, false>(call);
}

// Slope times gradient, by either formula.
void gelu_grad_cuda(const CudaCall& call) {
  if (call.attributes.word("approximation") == "tanh")
    run_pointwise<DeviceTimesSlope<DeviceGeluTanh>, true>(call);
  else
    run_pointwise<DeviceTimesSlope<DeviceGeluExact>, true>(call);
}

}  // namespace tessera
