// SPDX-License-Identifier: Apache-2.0
// The gates of one token from its logits and its choices; route and route_grad share it.
#if defined(TESSERA_OPS_MOE_ROUTING_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_OPS_MOE_ROUTING_CPU_H
#undef TESSERA_OPS_MOE_ROUTING_CPU_H
#else
#define TESSERA_OPS_MOE_ROUTING_CPU_H
#endif

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/fast_math.h"
#include "ops/moe/routing.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// shares[e] = softmax(logits)[e], summed in order of e.
template <typename S>
TESSERA_INLINE void softmax_row(const S* logits, int64_t count, S* shares) {
  S largest = logits[0];
  for (int64_t e = 1; e < count; ++e) largest = logits[e] > largest ? logits[e] : largest;
#pragma GCC ivdep
  for (int64_t e = 0; e < count; ++e) shares[e] = fast_exp<S>(logits[e] - largest);
  S sum = 0;
  for (int64_t e = 0; e < count; ++e) sum += shares[e];
  for (int64_t e = 0; e < count; ++e) shares[e] /= sum;
}

// What the gates are made of, one for each choice, before they are normalised and scaled. `shares`
// holds the softmax over all experts where the gate is of that kind.
template <typename S>
TESSERA_INLINE void chosen_weights(const Routing& r, const S* logits, const int32_t* chosen,
                                   const S* shares, S* weights) {
  for (int64_t k = 0; k < r.top_k; ++k) {
    if (r.gate == GateKind::Softmax)
      weights[k] = shares[chosen[k]];
    else if (r.gate == GateKind::Sigmoid)
      weights[k] = fast_sigmoid<S>(logits[chosen[k]]);
    else
      weights[k] = logits[chosen[k]];
  }
  if (r.gate == GateKind::OverChosen) softmax_row(weights, r.top_k, weights);
}

// By what normalised gates are divided, summed in order of k.
template <typename S>
TESSERA_INLINE S divisor_of(const Routing& r, const S* weights) {
  if (r.gate != GateKind::Sigmoid || !r.normalise) return 1;
  S sum = 0;
  for (int64_t k = 0; k < r.top_k; ++k) sum += weights[k];
  return sum;
}

// body(first_token, last_token, worker), of `elements` logits.
template <typename Body>
void run_tokens(ThreadPool& threads, const Routing& r, int64_t elements, Body&& body) {
  constexpr int64_t kScores = 4096;  // each costs several operations
  threads.run_ranges(elements / r.experts, std::max<int64_t>(1, kScores / r.experts), body);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
