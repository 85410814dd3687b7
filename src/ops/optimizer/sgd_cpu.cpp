// SPDX-License-Identifier: Apache-2.0
// SGD's rule for one element: a step along the decaying sum of gradients.
#define HWY_TARGET_INCLUDE "ops/optimizer/sgd_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/optimizer/update_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename A>
struct SgdRule {
  static constexpr size_t kSlots = 1;
  A momentum, learning_rate;

  SgdRule(const Attributes& a, double rate, double)
      : momentum(static_cast<A>(a.real("momentum"))), learning_rate(static_cast<A>(rate)) {}

  TESSERA_INLINE A apply(A decayed_weight, A g, std::array<A, kSlots>& sums) const {
    sums[0] = momentum * sums[0] + g;
    return decayed_weight - learning_rate * sums[0];
  }
};

}  // namespace

void sgd_cpu(const CpuCall& call) { run_update<SgdRule>(call); }

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(sgd_cpu)
}  // namespace tessera
#endif
