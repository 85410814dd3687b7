// SPDX-License-Identifier: Apache-2.0
// Muon's rule for one element: a step along what comes in the gradient's place.
#include "ops/optimizer/update_cuda.h"

namespace tessera {
namespace {

struct MuonConstants {};

template <typename A>
struct MuonRule {
  using Constants = MuonConstants;
  static constexpr int kSlots = 0;
  A learning_rate;

  __device__ static MuonRule at_step(const Constants&, double rate, double) {
    return {.learning_rate = static_cast<A>(rate)};
  }

  template <bool>
  __device__ A apply(A decayed_weight, A direction, A (&)[array_of(kSlots)]) const {
    return fma(-learning_rate, direction, decayed_weight);
  }
};

}  // namespace

void muon_cuda(const CudaCall& call) { run_update<MuonRule>(call, {}); }

}  // namespace tessera
