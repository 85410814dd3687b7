// SPDX-License-Identifier: Apache-2.0
// With weights w of the chosen experts: first their gradients, through scale and division, then
// those of the logits: w (dw - sum dw w) for a softmax, dw w (1 - w) for a sigmoid.
#include "ops/moe/routing_cpu.h"

namespace tessera {
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
TESSERA_SIMD void route_grad_tokens(const Routing& r, int64_t tokens, const S* logits,
                                    const int32_t* chosen, const S* d_gates, S* d_logits,
                                    S* scratch) {
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

}  // namespace tessera
