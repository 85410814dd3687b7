// SPDX-License-Identifier: Apache-2.0
// AdamW's rule for one element, with both moments corrected for their start at zero.
#include "ops/optimizer/update_cuda.h"

namespace tessera {
namespace {

// By the GPU's own root and division, to about 1e-6, where the result is rounded to bf16. Numbers
// below 1e-38 count as 0.
__device__ inline float quick_step(float m1, float m2, float inv_root_bias2, float epsilon) {
  float deviation, step;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(deviation) : "f"(m2));
  asm("div.approx.ftz.f32 %0, %1, %2;"
      : "=f"(step)
      : "f"(m1), "f"(deviation * inv_root_bias2 + epsilon));
  return step;
}

struct AdamwConstants {
  double beta1, beta2, epsilon;
};

template <typename A>
struct AdamwRule {
  using Constants = AdamwConstants;
  static constexpr int kSlots = 2;
  A beta1, beta2, epsilon, step_size, inv_root_bias2;

  __device__ static AdamwRule at_step(const Constants& k, double rate, double step) {
    return {.beta1 = static_cast<A>(k.beta1),
            .beta2 = static_cast<A>(k.beta2),
            .epsilon = static_cast<A>(k.epsilon),
            .step_size = static_cast<A>(rate / (1 - pow(k.beta1, step))),
            .inv_root_bias2 = static_cast<A>(1 / sqrt(1 - pow(k.beta2, step)))};
  }

  template <bool kQuick>
  __device__ A apply(A decayed_weight, A gradient, A (&moments)[kSlots]) const {
    const A m1 = beta1 * moments[0] + (1 - beta1) * gradient;
    const A m2 = beta2 * moments[1] + (1 - beta2) * gradient * gradient;
    moments[0] = m1;
    moments[1] = m2;
    // Which product joins the difference is said here, so that no compiler chooses it element by
    // element.
    if constexpr (kQuick)
      return fma(-step_size, quick_step(m1, m2, inv_root_bias2, epsilon), decayed_weight);
    else
      return fma(-step_size, m1 / (sqrt(m2) * inv_root_bias2 + epsilon), decayed_weight);
  }
};

}  // namespace

void adamw_cuda(const CudaCall& call) {
  const Attributes& a = call.attributes;
  run_update<AdamwRule>(
      call, {.beta1 = a.real("beta1"), .beta2 = a.real("beta2"), .epsilon = a.real("epsilon")});
}

}  // namespace tessera
