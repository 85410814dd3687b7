// SPDX-License-Identifier: Apache-2.0
// The loss alone, and the loss with the gradient, its second result, from the same scores; the
// maths is that of balance_loss_cpu.cpp.
#include "ops/moe/router_loss_cuda.h"

namespace tessera {
namespace {

template <typename S>
struct BalanceTerm {
  const S* logits;
  const int32_t* counts;
  S* d_logits;  // or null
  int experts;
  int64_t tokens_per_count;
  bool sigmoid;

  // Scores that add up to 1. Gives the sum by which sigmoids were divided.
  __device__ S normalise(const S* own, S* scores) const {
    if (!sigmoid) {
      softmax_by_warp(own, experts, scores);
      return 1;
    }
    S sum = 0;
    for (int e = lane_of_warp(); e < experts; e += 32) sum += scores[e] = exact_sigmoid(own[e]);
    sum = warp_sum(sum);
    for (int e = lane_of_warp(); e < experts; e += 32) scores[e] /= sum;
    return sum;
  }

  __device__ S operator()(int64_t token, S factor, S* scores) const {
    const int32_t* counted = counts + token / tokens_per_count * experts;
    const S sum = normalise(logits + token * experts, scores);
    int64_t all = 0;
    for (int e = lane_of_warp(); e < experts; e += 32) all += counted[e];
    all = warp_sum(all);
    const double unit = all > 0 ? static_cast<double>(experts) / static_cast<double>(all) : 0;
    S term = 0;
    for (int e = lane_of_warp(); e < experts; e += 32)
      term += static_cast<S>(counted[e] * unit) * scores[e];
    term = warp_sum(term);
    for (int e = lane_of_warp(); d_logits && e < experts; e += 32) {
      const S slope = sigmoid ? 1 - scores[e] * sum : S{1};
      d_logits[token * experts + e] =
          factor * scores[e] * (static_cast<S>(counted[e] * unit) - term) * slope;
    }
    return term;
  }
};

void run_balance_loss(const CudaCall& call) {
  const TensorType &type = *call.operand(0).type, &counted = *call.operand(1).type;
  dispatch_logits(type.dtype, [&]<typename S>() {
    const BalanceTerm<S> term{.logits = call.operand(0).as<S>(),
                              .counts = call.operand(1).as<int32_t>(),
                              .d_logits = call.result(1) ? call.result(1).as<S>() : nullptr,
                              .experts = static_cast<int>(type.dims.back().size),
                              .tokens_per_count = type.num_elements() / counted.num_elements(),
                              .sigmoid = call.attributes.word("score") == "sigmoid"};
    run_router_loss<S>(call, call.operand(2), term);
  });
}

}  // namespace

void balance_loss_cuda(const CudaCall& call) { run_balance_loss(call); }

int64_t balance_loss_cuda_workspace_bytes(const OpCall&, CausalAttention&) {
  return router_loss_cuda_bytes();
}

void balance_loss_grad_cuda(const CudaCall& call) { run_balance_loss(call); }

int64_t balance_loss_grad_cuda_workspace_bytes(const OpCall&, CausalAttention&) {
  return router_loss_cuda_bytes();
}

}  // namespace tessera
