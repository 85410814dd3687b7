// SPDX-License-Identifier: Apache-2.0
// Slope times gradient, by either formula.
#include "ops/elementwise/activations_cuda.h"
#include "ops/elementwise/pointwise_cuda.h"

namespace tessera {

void gelu_grad_cuda(const CudaCall& call) {
  if (call.attributes.word("approximation") == "tanh")
    run_pointwise<DeviceTimesSlope<DeviceGeluTanh>, true>(call);
  else
    run_pointwise<DeviceTimesSlope<DeviceGeluExact>, true>(call);
}

}  // namespace tessera
