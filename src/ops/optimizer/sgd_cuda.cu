// SPDX-License-Identifier: Apache-2.0
// SGD's rule for one element: a step along the decaying sum of gradients.
#include "ops/optimizer/update_cuda.h"

namespace tessera {
namespace {

struct SgdConstants {
  double momentum;
};

template <typename A>
struct SgdRule {
  using Constants = SgdConstants;
  static constexpr int kSlots = 1;
  A momentum, learning_rate;

  __device__ static SgdRule at_step(const Constants& k, double rate, double) {
    return {.momentum = static_cast<A>(k.momentum), .learning_rate = static_cast<A>(rate)};
  }

  template <bool>
  __device__ A apply(A decayed_weight, A gradient, A (&sums)[kSlots]) const {
    sums[0] = momentum * sums[0] + gradient;
    return fma(-learning_rate, sums[0], decayed_weight);
  }
};

}  // namespace

void sgd_cuda(const CudaCall& call) {
  run_update<SgdRule>(call, {.momentum = call.attributes.real("momentum")});
}

}  // namespace tessera
