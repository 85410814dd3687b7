// SPDX-License-Identifier: Apache-2.0
// The activation at every element, by either formula.
#include "ops/elementwise/activations_cpu.h"
#include "ops/elementwise/pointwise_cpu.h"

namespace tessera {
namespace {

template <typename Activation>
struct Forward {
  template <typename A>
  TESSERA_INLINE static A apply(A x) {
    return Activation::value(x);
  }
};

}  // namespace

void gelu_cpu(const CpuCall& call) {
  if (call.attributes.word("approximation") == "tanh")
    run_pointwise<Forward<GeluTanh>>(call);
  else
    run_pointwise<Forward<GeluExact>>(call);
}

// Slope times gradient, by either formula.
void gelu_grad_cpu(const CpuCall& call) {
  if (call.attributes.word("approximation") == "tanh")
    run_pointwise<TimesSlope<GeluTanh>>(call);
  else
    run_pointwise<TimesSlope<GeluExact>>(call);
}

}  // namespace tessera
