// SPDX-License-Identifier: Apache-2.0
// The activation at every element, by either formula.
#define HWY_TARGET_INCLUDE "ops/elementwise/gelu_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/elementwise/activations_cpu.h"
#include "ops/elementwise/pointwise_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
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

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(gelu_cpu)
TESSERA_KERNEL(gelu_grad_cpu)
}  // namespace tessera
#endif
