// SPDX-License-Identifier: Apache-2.0
// Lion's rule for one element: a step of fixed size. The sign of 0 is 0, so that what has no
// gradient stays.
#define HWY_TARGET_INCLUDE "ops/optimizer/lion_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/optimizer/update_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename A>
struct LionRule {
  static constexpr size_t kSlots = 1;
  A beta1, beta2, learning_rate;

  LionRule(const Attributes& a, double rate, double)
      : beta1(static_cast<A>(a.real("beta1"))),
        beta2(static_cast<A>(a.real("beta2"))),
        learning_rate(static_cast<A>(rate)) {}

  TESSERA_INLINE A apply(A decayed_weight, A g, std::array<A, kSlots>& mean) const {
    const A wanted = beta1 * mean[0] + (1 - beta1) * g;
    const A sign = (wanted > 0 ? A{1} : A{0}) - (wanted < 0 ? A{1} : A{0});
    mean[0] = beta2 * mean[0] + (1 - beta2) * g;
    return decayed_weight - learning_rate * sign;
  }
};

}  // namespace

void lion_cpu(const CpuCall& call) { run_update<LionRule>(call); }

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(lion_cpu)
}  // namespace tessera
#endif
