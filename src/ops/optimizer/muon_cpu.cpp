// SPDX-License-Identifier: Apache-2.0
// Muon's rule for one element: a step along what comes in the gradient's place.
#define HWY_TARGET_INCLUDE "ops/optimizer/muon_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/optimizer/update_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename A>
struct MuonRule {
  static constexpr size_t kSlots = 0;
  A learning_rate;

  MuonRule(const Attributes&, double rate, double) : learning_rate(static_cast<A>(rate)) {}

  TESSERA_INLINE A apply(A decayed_weight, A direction, std::array<A, kSlots>&) const {
    return decayed_weight - learning_rate * direction;
  }
};

}  // namespace

void muon_cpu(const CpuCall& call) { run_update<MuonRule>(call); }

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(muon_cpu)
}  // namespace tessera
#endif
