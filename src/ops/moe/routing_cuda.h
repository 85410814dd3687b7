// SPDX-License-Identifier: Apache-2.0
// The gates of one token by one warp, from its logits and its choices, as in routing_cpu.h; route
// and route_grad share it. What a warp writes to its scratch is read by all of it after __syncwarp.
#pragma once

#include "exec/cuda/kernel_launch.h"
#include "ops/moe/routing.h"

namespace tessera {

// What kernels get of Routing, by value.
struct DeviceRouting {
  int experts, top_k, groups, kept;
  bool scores_are_softmax, scores_are_sigmoid, normalise;
  GateKind gate;
  double scale;
  int64_t tokens;

  DeviceRouting(const Routing& r, int64_t token_count)
      : experts(static_cast<int>(r.experts)),
        top_k(static_cast<int>(r.top_k)),
        groups(static_cast<int>(r.groups)),
        kept(static_cast<int>(r.kept)),
        scores_are_softmax(r.scores_are_softmax),
        scores_are_sigmoid(r.scores_are_sigmoid),
        normalise(r.normalise),
        gate(r.gate),
        scale(r.scale),
        tokens(token_count) {}

  // Gates that are divided by their sum: of a softmax it is one over the chosen instead.
  __device__ bool divides() const { return gate == GateKind::Sigmoid && normalise; }
};

// Of a warp, in shared memory: three arrays of as many as there are experts, and the choices.
template <typename S>
struct RoutingScratch {
  S *keys, *shares, *weights;
  int32_t* chosen;

  __host__ __device__ static size_t bytes(int experts) {
    return static_cast<size_t>(experts) * 3 * sizeof(S) +
           (static_cast<size_t>(experts) + 1) / 2 * 8;
  }
  __device__ RoutingScratch(std::byte* shared, int experts) {
    keys = reinterpret_cast<S*>(shared + threadIdx.x / 32 * bytes(experts));
    shares = keys + experts;
    weights = shares + experts;
    chosen = reinterpret_cast<int32_t*>(weights + experts);
  }
};

__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x % 32); }

template <typename S>
__device__ inline S exact_sigmoid(S x) {
  return 1 / (1 + exp(-x));
}

template <typename S>
__device__ inline void softmax_by_warp(const S* logits, int count, S* shares) {
  S largest = logits[0];
  for (int e = lane_of_warp(); e < count; e += 32)
    largest = logits[e] > largest ? logits[e] : largest;
  largest = warp_max(largest);
  S sum = 0;
  for (int e = lane_of_warp(); e < count; e += 32) sum += shares[e] = exp(logits[e] - largest);
  sum = warp_sum(sum);
  for (int e = lane_of_warp(); e < count; e += 32) shares[e] /= sum;
  __syncwarp();
}

// What the gates are made of, before they are divided and scaled. `shares` holds the softmax over
// all experts where the gate is of that kind.
template <typename S>
__device__ inline void weigh_chosen(const DeviceRouting& r, const S* logits,
                                    const RoutingScratch<S>& scratch) {
  for (int k = lane_of_warp(); k < r.top_k; k += 32) {
    const int expert = scratch.chosen[k];
    if (r.gate == GateKind::Softmax)
      scratch.weights[k] = scratch.shares[expert];
    else
      scratch.weights[k] =
          r.gate == GateKind::Sigmoid ? exact_sigmoid(logits[expert]) : logits[expert];
  }
  __syncwarp();
  if (r.gate == GateKind::OverChosen) softmax_by_warp(scratch.weights, r.top_k, scratch.weights);
}

// f(0) + f(1) + ..., over the choices in order of k, by each lane.
template <typename S, typename F>
__device__ inline S sum_over_chosen(const DeviceRouting& r, F f) {
  S sum = 0;
  for (int k = 0; k < r.top_k; ++k) sum += f(k);
  return sum;
}

// Calls f.template operator()<S>() with the C++ type of logits.
template <typename F>
void dispatch_logits(DType dtype, F&& f) {
  if (dtype == DType::Fp64) return f.template operator()<double>();
  f.template operator()<float>();
}

// A warp for each token, as many in a block as shared memory has room for.
template <typename S>
Grid token_grid(int64_t experts, int64_t tokens) {
  constexpr size_t kMostBytes = 48 * 1024;
  const size_t bytes = RoutingScratch<S>::bytes(static_cast<int>(experts));
  TESSERA_CHECK(bytes <= kMostBytes, "{} experts", experts);
  const size_t warps = std::min<size_t>(8, kMostBytes / bytes);
  return {.blocks = blocks_for(tokens, static_cast<int64_t>(warps)),
          .threads = static_cast<int>(32 * warps),
          .shared_bytes = warps * bytes};
}
// The token of the warp; one beyond the last has none.
__device__ inline int64_t token_of_warp() {
  return static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
}

}  // namespace tessera
