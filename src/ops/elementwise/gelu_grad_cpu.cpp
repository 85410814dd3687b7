// SPDX-License-Identifier: Apache-2.0
// Slope times gradient, by either formula.
#include "ops/elementwise/activations_cpu.h"
#include "ops/elementwise/pointwise_cpu.h"

namespace tessera {
namespace {

template <typename Activation>
struct Backward {
  template <typename A>
  TESSERA_INLINE static A apply(A x, A dy) {
    return Activation::slope(x) * dy;
  }
};

}  // namespace

void gelu_grad_cpu(const CpuCall& call) {
  if (call.attributes.word("approximation") == "tanh")
    run_pointwise<Backward<GeluTanh>>(call);
  else
    run_pointwise<Backward<GeluExact>>(call);
}

}  // namespace tessera
