// SPDX-License-Identifier: Apache-2.0
// One warp for a token: its keys, then top_k times the best key that is left, the lower index where
// keys tie.
#include <limits>

#include "ops/moe/routing_cuda.h"

namespace tessera {
namespace {

// The key of an expert that is chosen already, or not eligible.
template <typename S>
inline constexpr S kOut = -std::numeric_limits<S>::infinity();

// Without bias and groups the logits have the order of the scores, and never tie by rounding.
template <typename S>
__device__ inline void set_keys(const DeviceRouting& r, const S* logits, const S* bias,
                                bool by_score, const RoutingScratch<S>& scratch) {
  for (int e = lane_of_warp(); e < r.experts; e += 32) {
    S key = logits[e];
    if (by_score && r.scores_are_softmax) key = scratch.shares[e];
    if (by_score && r.scores_are_sigmoid) key = exact_sigmoid(logits[e]);
    if (bias) key += bias[e];
    constexpr S kLowest = std::numeric_limits<S>::lowest();
    // Also where it is no number; and zero has one sign, so that zeros tie.
    scratch.keys[e] = key > kLowest ? key + S{0} : kLowest;
  }
  __syncwarp();
}

template <typename S>
__device__ inline S sum_of_two_best(const S* keys, int count) {
  S first = keys[0], second = kOut<S>;
  for (int e = 1; e < count; ++e) {
    if (keys[e] > first)
      second = first, first = keys[e];
    else if (keys[e] > second)
      second = keys[e];
  }
  return count > 1 ? first + second : first;
}

template <typename S>
__device__ inline void keep_best_groups(const DeviceRouting& r, const RoutingScratch<S>& scratch) {
  const int size = r.experts / r.groups;
  S* scores = scratch.weights;
  for (int g = lane_of_warp(); g < r.groups; g += 32)
    scores[g] = sum_of_two_best(scratch.keys + g * size, size);
  __syncwarp();
  for (int g = lane_of_warp(); g < r.groups; g += 32) {
    int better = 0;
    for (int other = 0; other < r.groups; ++other)
      better += scores[other] > scores[g] || (scores[other] == scores[g] && other < g);
    if (better < r.kept) continue;
    for (int e = g * size; e < (g + 1) * size; ++e) scratch.keys[e] = kOut<S>;
  }
  __syncwarp();
}

// The index of the largest key of the warp's lanes, the lowest where they tie.
__device__ inline int best_of_lanes(double key, int index) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const double other_key = __shfl_xor_sync(~0u, key, distance);
    const int other = __shfl_xor_sync(~0u, index, distance);
    if (other_key > key || (other_key == key && other < index)) key = other_key, index = other;
  }
  return index;
}
__device__ inline int best_of_lanes(float key, int index) {
  const int bits = __float_as_int(key), ordered = bits ^ (bits >> 31 & 0x7fffffff);
  const int largest = __reduce_max_sync(~0u, ordered);
  return __reduce_min_sync(~0u, ordered == largest ? index : std::numeric_limits<int>::max());
}

template <typename S>
__device__ inline int best_of(const S* keys, int count) {
  S key = kOut<S>;
  int best = count;
  for (int e = lane_of_warp(); e < count; e += 32)
    if (keys[e] > key) key = keys[e], best = e;
  return best_of_lanes(key, best);
}

template <typename S>
__global__ void __launch_bounds__(kThreads)
    route_kernel(DeviceRouting r, const S* logits, const S* bias, S* gates, int32_t* chosen) {
  extern __shared__ __align__(16) std::byte shared[];
  const RoutingScratch<S> scratch(shared, r.experts);
  const int64_t token = token_of_warp();
  if (token >= r.tokens) return;
  logits += token * r.experts;
  const bool by_score = bias || r.groups > 1;
  if (r.gate == GateKind::Softmax || (by_score && r.scores_are_softmax))
    softmax_by_warp(logits, r.experts, scratch.shares);
  set_keys(r, logits, bias, by_score, scratch);
  if (r.groups > 1) keep_best_groups(r, scratch);
  for (int k = 0; k < r.top_k; ++k) {
    const int best = best_of(scratch.keys, r.experts);
    if (lane_of_warp() == 0) scratch.chosen[k] = best, scratch.keys[best] = kOut<S>;
    __syncwarp();
  }
  weigh_chosen(r, logits, scratch);
  const S* weights = scratch.weights;
  const S divisor = r.divides() ? sum_over_chosen<S>(r, [=](int k) { return weights[k]; }) : S{1};
  for (int k = lane_of_warp(); k < r.top_k; k += 32) {
    gates[token * r.top_k + k] = weights[k] / divisor * static_cast<S>(r.scale);
    chosen[token * r.top_k + k] = scratch.chosen[k];
  }
}

}  // namespace

void route_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(0).type;
  const int64_t experts = type.dims.back().size;
  const DeviceRouting r(Routing(call.attributes, experts), type.num_elements() / experts);
  dispatch_logits(type.dtype, [&]<typename S>() {
    const S* bias = call.operand(1) ? call.operand(1).as<S>() : nullptr;
    launch(call, token_grid<S>(r.experts, r.tokens), route_kernel<S>, r,
           static_cast<const S*>(call.operand(0).as<S>()), bias, call.result(0).as<S>(),
           call.result(1).as<int32_t>());
  });
}

int64_t route_cuda_workspace_bytes(const OpCall&, CausalAttention&) { return 0; }

// One warp for a token. With weights w of the chosen experts: first their gradients, through scale
// and division, then those of the logits: w (dw - sum dw w) for a softmax, dw w (1 - w) for a
// sigmoid.
namespace {

// The gradient of weight k.
template <typename S>
struct WeightGradient {
  const S *d_gates, *weights;
  S scale, divisor, along;

  __device__ WeightGradient(const DeviceRouting& r, const S* d_gates_of, const S* weights_of)
      : d_gates(d_gates_of),
        weights(weights_of),
        scale(static_cast<S>(r.scale)),
        divisor(1),
        along(0) {
    if (!r.divides()) return;
    const S* w = weights;
    const S* d = d_gates;
    const S sum = sum_over_chosen<S>(r, [=](int k) { return w[k]; });
    along = sum_over_chosen<S>(r, [=](int k) { return d[k] * (w[k] / sum); });
    divisor = sum;
  }
  __device__ S operator()(int k) const { return scale / divisor * (d_gates[k] - along); }
};

template <typename S>
__global__ void __launch_bounds__(kThreads)
    route_grad_kernel(DeviceRouting r, const S* logits, const int32_t* chosen, const S* all_d_gates,
                      S* d_logits) {
  extern __shared__ __align__(16) std::byte shared[];
  const RoutingScratch<S> scratch(shared, r.experts);
  const int64_t token = token_of_warp();
  if (token >= r.tokens) return;
  logits += token * r.experts;
  for (int k = lane_of_warp(); k < r.top_k; k += 32)
    scratch.chosen[k] = chosen[token * r.top_k + k];
  __syncwarp();
  if (r.gate == GateKind::Softmax) softmax_by_warp(logits, r.experts, scratch.shares);
  weigh_chosen(r, logits, scratch);
  const S* weights = scratch.weights;
  const WeightGradient<S> d_weight(r, all_d_gates + token * r.top_k, weights);
  const S along = sum_over_chosen<S>(r, [=](int k) { return d_weight(k) * weights[k]; });
  S* gradients = scratch.keys;
  for (int e = lane_of_warp(); e < r.experts; e += 32)
    gradients[e] = r.gate == GateKind::Softmax ? -scratch.shares[e] * along : S{0};
  __syncwarp();
  for (int k = lane_of_warp(); k < r.top_k; k += 32) {
    const S w = weights[k], d = d_weight(k);
    gradients[scratch.chosen[k]] = w * (d - (r.gate == GateKind::Sigmoid ? d * w : along));
  }
  __syncwarp();
  for (int e = lane_of_warp(); e < r.experts; e += 32)
    d_logits[token * r.experts + e] = gradients[e];
}

}  // namespace

void route_grad_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(0).type;
  const int64_t experts = type.dims.back().size;
  const DeviceRouting r(Routing(call.attributes, experts), type.num_elements() / experts);
  dispatch_logits(type.dtype, [&]<typename S>() {
    launch(call, token_grid<S>(r.experts, r.tokens), route_grad_kernel<S>, r,
           static_cast<const S*>(call.operand(0).as<S>()),
           static_cast<const int32_t*>(call.operand(1).as<int32_t>()),
           static_cast<const S*>(call.operand(2).as<S>()), call.result(0).as<S>());
  });
}

int64_t route_grad_cuda_workspace_bytes(const OpCall&, CausalAttention&) { return 0; }

}  // namespace tessera
