// SPDX-License-Identifier: Apache-2.0
// One warp for a token. With weights w of the chosen experts: first their gradients, through scale
// and division, then those of the logits: w (dw - sum dw w) for a softmax, dw w (1 - w) for a
// sigmoid.
#include "ops/moe/routing_cuda.h"

namespace tessera {
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
