// SPDX-License-Identifier: Apache-2.0
// The loss alone, and the loss with the gradient, its second result, from the same exponentials.
#define HWY_TARGET_INCLUDE "ops/moe/router_z_loss_cpu.cpp"
#include <cmath>

#include "exec/cpu/each_target.h"
#include "exec/cpu/fast_math.h"
#include "ops/moe/router_loss_cpu.h"
#include "ops/moe/routing_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// With z = log(sum_e exp(logit_e)): z^2, whose gradient is 2 z softmax(logits).
template <typename S>
S z_term(const S* logits, int64_t experts, S factor, S* d_logits, S* exps) {
  S largest = logits[0], sum = 0;
  for (int64_t e = 1; e < experts; ++e) largest = logits[e] > largest ? logits[e] : largest;
  for (int64_t e = 0; e < experts; ++e) sum += exps[e] = fast_exp<S>(logits[e] - largest);
  const S z = largest + std::log(sum);
  for (int64_t e = 0; d_logits && e < experts; ++e) d_logits[e] = factor * 2 * z * exps[e] / sum;
  return z * z;
}

void router_z_loss_kernel(const CpuCall& call) {
  const TensorType& type = *call.operand(0).type;
  const int64_t experts = type.dims.back().size;
  dispatch_accumulator(type.dtype, [&]<typename S>() {
    const S* logits = call.operand(0).as<S>();
    S* d_logits = call.result(1) ? call.result(1).as<S>() : nullptr;
    router_loss<S>(call, *call.operand(1).as<double>(), [&](int64_t t, S factor, S* exps) {
      return z_term(logits + t * experts, experts, factor,
                    d_logits ? d_logits + t * experts : nullptr, exps);
    });
  });
}

}  // namespace

void router_z_loss_cpu(const CpuCall& call) { router_z_loss_kernel(call); }

void router_z_loss_grad_cpu(const CpuCall& call) { router_z_loss_kernel(call); }

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(router_z_loss_cpu)
TESSERA_KERNEL(router_z_loss_grad_cpu)
}  // namespace tessera
#endif
