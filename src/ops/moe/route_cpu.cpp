// SPDX-License-Identifier: Apache-2.0
// One token at a time: its keys, then top_k times the best key that is left. Keys are compared with
// `>` in order of the index, so that a tie, and a NaN, leaves the lower one.
#define HWY_TARGET_INCLUDE "ops/moe/route_cpu.cpp"
#include <limits>

#include "exec/cpu/each_target.h"
#include "ops/moe/routing_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// The key of an expert that is chosen already, or not eligible.
template <typename S>
inline constexpr S kOut = -std::numeric_limits<S>::infinity();

template <typename S>
TESSERA_INLINE int64_t best_of(const S* keys, int64_t count) {
  int64_t best = -1;
  for (int64_t e = 0; e < count; ++e)
    if (keys[e] != kOut<S> && (best < 0 || keys[e] > keys[best])) best = e;
  return best;
}

template <typename S>
TESSERA_INLINE S sum_of_two_best(const S* keys, int64_t count) {
  S first = keys[0], second = kOut<S>;
  for (int64_t e = 1; e < count; ++e) {
    if (keys[e] > first)
      second = first, first = keys[e];
    else if (keys[e] > second)
      second = keys[e];
  }
  return count > 1 ? first + second : first;
}

template <typename S>
TESSERA_INLINE void keep_best_groups(const Routing& r, S* keys, S* scores) {
  const int64_t size = r.experts / r.groups;
  for (int64_t g = 0; g < r.groups; ++g) scores[g] = sum_of_two_best(keys + g * size, size);
  for (int64_t left = r.groups; left > r.kept; --left) {
    int64_t worst = -1;  // the last of equals
    for (int64_t g = 0; g < r.groups; ++g)
      if (keys[g * size] != kOut<S> && (worst < 0 || scores[g] <= scores[worst])) worst = g;
    for (int64_t e = worst * size; e < (worst + 1) * size; ++e) keys[e] = kOut<S>;
  }
}

// Without bias and groups the logits have the order of the scores, and never tie by rounding.
template <typename S>
TESSERA_INLINE void set_keys(const Routing& r, const S* logits, const S* bias, const S* shares,
                             S* keys) {
  const bool by_score = bias || r.groups > 1;
  for (int64_t e = 0; e < r.experts; ++e) {
    S key = logits[e];
    if (by_score && r.scores_are_softmax) key = shares[e];
    if (by_score && r.scores_are_sigmoid) key = fast_sigmoid<S>(logits[e]);
    if (bias) key += bias[e];
    keys[e] = key == kOut<S> ? std::numeric_limits<S>::lowest() : key;
  }
}

template <typename S>
TESSERA_INLINE void finished_gates(const Routing& r, const S* logits, const int32_t* chosen,
                                   const S* shares, S* gates) {
  chosen_weights(r, logits, chosen, shares, gates);
  const S divisor = divisor_of(r, gates);
  for (int64_t k = 0; k < r.top_k; ++k) gates[k] = gates[k] / divisor * static_cast<S>(r.scale);
}

template <typename S>
void set_chosen_gates(const Routing& r, const S* logits, const int32_t* chosen, S* shares,
                      S* gates) {
  if (r.gate == GateKind::Softmax) softmax_row(logits, r.experts, shares);
  finished_gates(r, logits, chosen, shares, gates);
}

template <typename S>
void route_tokens(const Routing& r, int64_t tokens, const S* logits, const S* bias, S* gates,
                  int32_t* chosen, S* scratch) {
  S *keys = scratch, *shares = keys + r.experts, *scores = shares + r.experts;
  for (int64_t t = 0; t < tokens; ++t) {
    if (r.scores_are_softmax) softmax_row(logits, r.experts, shares);
    set_keys(r, logits, bias, shares, keys);
    if (r.groups > 1) keep_best_groups(r, keys, scores);
    for (int64_t k = 0; k < r.top_k; ++k) {
      const int64_t best = best_of(keys, r.experts);
      chosen[k] = static_cast<int32_t>(best);
      keys[best] = kOut<S>;
    }
    finished_gates(r, logits, chosen, shares, gates);
    logits += r.experts, gates += r.top_k, chosen += r.top_k;
  }
}

}  // namespace

void gates_of_floats(const Routing& r, const float* logits, const int32_t* chosen, float* shares,
                     float* gates) {
  set_chosen_gates(r, logits, chosen, shares, gates);
}
void gates_of_doubles(const Routing& r, const double* logits, const int32_t* chosen, double* shares,
                      double* gates) {
  set_chosen_gates(r, logits, chosen, shares, gates);
}

void route_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(0).type;
  const Routing r(call.attributes, type.dims.back().size);
  dispatch_accumulator(type.dtype, [&]<typename S>() {
    const S* logits = call.operand(0).as<S>();
    const S* bias = call.operand(1) ? call.operand(1).as<S>() : nullptr;
    S *gates = call.result(0).as<S>(), *scratch = reinterpret_cast<S*>(call.workspace.data());
    int32_t* chosen = call.result(1).as<int32_t>();
    run_tokens(call.threads, r, type.num_elements(), [&](int64_t begin, int64_t end, int worker) {
      route_tokens(r, end - begin, logits + begin * r.experts, bias, gates + begin * r.top_k,
                   chosen + begin * r.top_k, scratch + worker * routing_scratch(r.experts));
    });
  });
}

// With weights w of the chosen experts: first their gradients, through scale and division, then
// those of the logits: w (dw - sum dw w) for a softmax, dw w (1 - w) for a sigmoid.
namespace {

// weights[k] becomes the gradient of weight k.
template <typename S>
TESSERA_INLINE void to_weight_gradients(const Routing& r, const S* d_gates, S* weights) {
  const S scale = static_cast<S>(r.scale);
  if (r.gate != GateKind::Sigmoid || !r.normalise) {
    for (int64_t k = 0; k < r.top_k; ++k) weights[k] = scale * d_gates[k];
    return;
  }
  const S divisor = divisor_of(r, weights);
  S along = 0;
  for (int64_t k = 0; k < r.top_k; ++k) along += d_gates[k] * (weights[k] / divisor);
  for (int64_t k = 0; k < r.top_k; ++k) weights[k] = scale / divisor * (d_gates[k] - along);
}

template <typename S>
void route_grad_tokens(const Routing& r, int64_t tokens, const S* logits, const int32_t* chosen,
                       const S* d_gates, S* d_logits, S* scratch) {
  S *shares = scratch, *weights = shares + r.experts, *gradients = weights + r.experts;
  for (int64_t t = 0; t < tokens; ++t) {
    if (r.gate == GateKind::Softmax) softmax_row(logits, r.experts, shares);
    chosen_weights(r, logits, chosen, shares, weights);
    for (int64_t k = 0; k < r.top_k; ++k) gradients[k] = weights[k];
    to_weight_gradients(r, d_gates, gradients);
    S along = 0;
    for (int64_t k = 0; k < r.top_k; ++k) along += gradients[k] * weights[k];
    for (int64_t e = 0; e < r.experts; ++e)
      d_logits[e] = r.gate == GateKind::Softmax ? -shares[e] * along : S{0};
    for (int64_t k = 0; k < r.top_k; ++k) {
      const S w = weights[k];
      d_logits[chosen[k]] =
          w * (gradients[k] - (r.gate == GateKind::Sigmoid ? gradients[k] * w : along));
    }
    logits += r.experts, chosen += r.top_k, d_gates += r.top_k, d_logits += r.experts;
  }
}

}  // namespace

void route_grad_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(0).type;
  const Routing r(call.attributes, type.dims.back().size);
  const int32_t* chosen = call.operand(1).as<int32_t>();
  dispatch_accumulator(type.dtype, [&]<typename S>() {
    const S *logits = call.operand(0).as<S>(), *d_gates = call.operand(2).as<S>();
    S *d_logits = call.result(0).as<S>(), *scratch = reinterpret_cast<S*>(call.workspace.data());
    run_tokens(call.threads, r, type.num_elements(), [&](int64_t begin, int64_t end, int worker) {
      route_grad_tokens(r, end - begin, logits + begin * r.experts, chosen + begin * r.top_k,
                        d_gates + begin * r.top_k, d_logits + begin * r.experts,
                        scratch + worker * routing_scratch(r.experts));
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(route_cpu)
TESSERA_KERNEL(route_grad_cpu)

void set_gates(const Routing& r, const float* logits, const int32_t* chosen, float* shares,
               float* gates) {
  TESSERA_VERSION(gates_of_floats)(r, logits, chosen, shares, gates);
}
void set_gates(const Routing& r, const double* logits, const int32_t* chosen, double* shares,
               double* gates) {
  TESSERA_VERSION(gates_of_doubles)(r, logits, chosen, shares, gates);
}
}  // namespace tessera
#endif
