// SPDX-License-Identifier: Apache-2.0
// The loss alone, and the loss with the gradient, its second result, from the same exponentials;
// the maths is that of router_z_loss_cpu.cpp.
#include "ops/moe/router_loss_cuda.h"

namespace tessera {
namespace {

template <typename S>
struct ZTerm {
  const S* logits;
  S* d_logits;  // or null
  int experts;

  __device__ S operator()(int64_t token, S factor, S* exps) const {
    const S* own = logits + token * experts;
    S largest = own[0], sum = 0;
    for (int e = lane_of_warp(); e < experts; e += 32)
      largest = own[e] > largest ? own[e] : largest;
    largest = warp_max(largest);
    for (int e = lane_of_warp(); e < experts; e += 32) sum += exps[e] = exp(own[e] - largest);
    sum = warp_sum(sum);
    const S z = largest + log(sum);
    for (int e = lane_of_warp(); d_logits && e < experts; e += 32)
      d_logits[token * experts + e] = factor * 2 * z * exps[e] / sum;
    return z * z;
  }
};

void run_router_z_loss(const CudaCall& call) {
  const TensorType& type = *call.operand(0).type;
  dispatch_logits(type.dtype, [&]<typename S>() {
    run_router_loss<S>(call, call.operand(1),
                       ZTerm<S>{.logits = call.operand(0).as<S>(),
                                .d_logits = call.result(1) ? call.result(1).as<S>() : nullptr,
                                .experts = static_cast<int>(type.dims.back().size)});
  });
}

}  // namespace

void router_z_loss_cuda(const CudaCall& call) { run_router_z_loss(call); }

int64_t router_z_loss_cuda_workspace_bytes(const OpCall&, CausalAttention&) {
  return router_loss_cuda_bytes();
}

void router_z_loss_grad_cuda(const CudaCall& call) { run_router_z_loss(call); }

int64_t router_z_loss_grad_cuda_workspace_bytes(const OpCall&, CausalAttention&) {
  return router_loss_cuda_bytes();
}

}  // namespace tessera
