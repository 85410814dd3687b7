// SPDX-License-Identifier: Apache-2.0
// AdamW's rule for one element, with both moments corrected for their start at zero.
#define HWY_TARGET_INCLUDE "ops/optimizer/adamw_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/optimizer/update_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename A>
struct AdamwRule {
  static constexpr size_t kSlots = 2;
  A beta1, beta2, epsilon;
  A step_size;       // learning_rate / (1 - beta1^step)
  A inv_root_bias2;  // 1 / sqrt(1 - beta2^step)

  AdamwRule(const Attributes& a, double learning_rate, double step)
      : beta1(static_cast<A>(a.real("beta1"))),
        beta2(static_cast<A>(a.real("beta2"))),
        epsilon(static_cast<A>(a.real("epsilon"))),
        step_size(static_cast<A>(learning_rate / (1 - std::pow(a.real("beta1"), step)))),
        inv_root_bias2(static_cast<A>(1 / std::sqrt(1 - std::pow(a.real("beta2"), step)))) {}

  TESSERA_INLINE A apply(A decayed_weight, A g, std::array<A, kSlots>& moments) const {
    const A rest1 = 1 - beta1, rest2 = 1 - beta2;
    const A m = beta1 * moments[0] + rest1 * g;
    const A v = beta2 * moments[1] + rest2 * g * g;
    moments = {m, v};
    return decayed_weight - step_size * (m / (std::sqrt(v) * inv_root_bias2 + epsilon));
  }
};

}  // namespace

void adamw_cpu(const CpuCall& call) { run_update<AdamwRule>(call); }

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(adamw_cpu)
}  // namespace tessera
#endif
