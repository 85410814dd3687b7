// SPDX-License-Identifier: Apache-2.0
// The activation at every element.
#define HWY_TARGET_INCLUDE "ops/elementwise/relu_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/elementwise/activations_cpu.h"
#include "ops/elementwise/pointwise_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

struct Forward {
  template <typename A>
  TESSERA_INLINE static A apply(A x) {
    return Relu::value(x);
  }
};

}  // namespace

void relu_cpu(const CpuCall& call) { run_pointwise<Forward>(call); }

// The gradient where the unit was on.
namespace {

struct Backward {
  template <typename A>
  TESSERA_INLINE static A apply(A y, A dy) {
    return y > 0 ? dy : A{0};
  }
};

}  // namespace

void relu_grad_cpu(const CpuCall& call) { run_pointwise<Backward>(call); }

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(relu_cpu)
TESSERA_KERNEL(relu_grad_cpu)
}  // namespace tessera
#endif
