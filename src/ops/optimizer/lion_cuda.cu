// SPDX-License-Identifier: Apache-2.0
// Lion's rule for one element: a step of fixed size. The sign of 0 is 0, so that what has no
// gradient stays.
#include "ops/optimizer/update_cuda.h"

namespace tessera {
namespace {

struct LionConstants {
  double beta1, beta2;
};

template <typename A>
struct LionRule {
  using Constants = LionConstants;
  static constexpr int kSlots = 1;
  A beta1, beta2, learning_rate;

  __device__ static LionRule at_step(const Constants& k, double rate, double) {
    return {.beta1 = static_cast<A>(k.beta1),
            .beta2 = static_cast<A>(k.beta2),
            .learning_rate = static_cast<A>(rate)};
  }

  template <bool>
  __device__ A apply(A decayed_weight, A gradient, A (&mean)[kSlots]) const {
    const A wanted = beta1 * mean[0] + (1 - beta1) * gradient;
    const A sign = (wanted > 0 ? A{1} : A{0}) - (wanted < 0 ? A{1} : A{0});
    mean[0] = beta2 * mean[0] + (1 - beta2) * gradient;
    return fma(-learning_rate, sign, decayed_weight);
  }
};

}  // namespace

void lion_cuda(const CudaCall& call) {
  const Attributes& a = call.attributes;
  run_update<LionRule>(call, {.beta1 = a.real("beta1"), .beta2 = a.real("beta2")});
}

}  // namespace tessera
