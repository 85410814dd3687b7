// SPDX-License-Identifier: Apache-2.0
// The loss alone, and the loss with the gradient, its second result, from the same scores.
#define HWY_TARGET_INCLUDE "ops/moe/balance_loss_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "exec/cpu/fast_math.h"
#include "ops/moe/router_loss_cpu.h"
#include "ops/moe/routing_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// Scores of one token that add up to 1. Gives the sum by which sigmoids were divided.
template <typename S>
TESSERA_INLINE S normalised_scores(const S* logits, int64_t experts, bool sigmoid, S* scores) {
  if (!sigmoid) {
    softmax_row(logits, experts, scores);
    return 1;
  }
  S sum = 0;
  for (int64_t e = 0; e < experts; ++e) sum += scores[e] = fast_sigmoid<S>(logits[e]);
  for (int64_t e = 0; e < experts; ++e) scores[e] /= sum;
  return sum;
}

// experts * sum_e shares_e p_e; its gradient is p_e (w_e - sum_j w_j p_j) for a softmax, with
// w = experts * shares, and that times 1 - sigmoid for normalised sigmoids.
template <typename S>
S balance_term(const S* logits, const int32_t* counts, int64_t experts, bool sigmoid, S factor,
               S* d_logits, S* scores) {
  const S sum = normalised_scores(logits, experts, sigmoid, scores);
  int64_t all = 0;
  for (int64_t e = 0; e < experts; ++e) all += counts[e];
  const double unit = all > 0 ? static_cast<double>(experts) / static_cast<double>(all) : 0.0;
  const auto weight = [&](int64_t e) {
    return static_cast<S>(static_cast<double>(counts[e]) * unit);
  };
  S term = 0;
  for (int64_t e = 0; e < experts; ++e) term += weight(e) * scores[e];
  for (int64_t e = 0; d_logits && e < experts; ++e) {
    const S slope = sigmoid ? 1 - scores[e] * sum : S{1};
    d_logits[e] = factor * scores[e] * (weight(e) - term) * slope;
  }
  return term;
}

void balance_loss_kernel(const CpuCall& call) {
  const TensorType &type = *call.operand(0).type, &counted = *call.operand(1).type;
  const int64_t experts = type.dims.back().size;
  const int64_t tokens_per_count = type.num_elements() / counted.num_elements();
  const bool sigmoid = call.attributes.word("score") == "sigmoid";
  const int32_t* counts = call.operand(1).as<int32_t>();
  dispatch_accumulator(type.dtype, [&]<typename S>() {
    const S* logits = call.operand(0).as<S>();
    S* d_logits = call.result(1) ? call.result(1).as<S>() : nullptr;
    router_loss<S>(call, *call.operand(2).as<double>(), [&](int64_t t, S factor, S* scores) {
      return balance_term(logits + t * experts, counts + t / tokens_per_count * experts, experts,
                          sigmoid, factor, d_logits ? d_logits + t * experts : nullptr, scores);
    });
  });
}

}  // namespace

void balance_loss_cpu(const CpuCall& call) { balance_loss_kernel(call); }

void balance_loss_grad_cpu(const CpuCall& call) { balance_loss_kernel(call); }

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(balance_loss_cpu)
TESSERA_KERNEL(balance_loss_grad_cpu)
}  // namespace tessera
#endif
