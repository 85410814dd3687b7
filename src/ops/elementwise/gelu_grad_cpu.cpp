// SPDX-License-Identifier: Apache-2.0
// Slope times gradient, by either formula.
#include "ops/elementwise/activations_cpu.h"
#include "ops/elementwise/pointwise_cpu.h"

namespace tessera {

void gelu_grad_cpu(const CpuCall& call) {
  if (call.attributes.word("approximation") == "tanh")
    run_pointwise<TimesSlope<GeluTanh>>(call);
  else
    run_pointwise<TimesSlope<GeluExact>>(call);
}

}  // namespace tessera
