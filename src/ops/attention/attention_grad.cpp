// SPDX-License-Identifier: Apache-2.0
// attention_grad(q, k, v, o, lse, do, positions, document, key_positions, key_document): dq, dk,
// dv. Scores are recomputed from lse, block by block. o and lse may come from a softmax over more
// keys than these; rows with lse = -inf add nothing.
#include "ops/attention/attention.h"
#include "ops/attention/ring_attention.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_attention_operands(call, 6);
  require_same_type(call, 0, 3);
  require_type(call, 4, lse_type(call.operand(0)));
  require_same_type(call, 0, 5);
  return {call.operand(0), call.operand(1), call.operand(2)};
}

// Five matmuls over the visible pairs: q k^T, do v^T, and those for dq, dk, dv.
Cost cost(const OpCall& call) {
  const AttentionSizes s(call.operand(0));
  return cost_of(call, 10 * s.e * s.causal_pairs());
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const int64_t element_bytes = size_bytes(accumulator_of(call.operand(0).dtype));
  return AttentionGradScratch(AttentionSizes(call.operand(0)), element_bytes).bytes *
         profile.threads;
}

}  // namespace

const OpDef& attention_grad_def() {
  static const OpDef def{
      .name = "attention_grad",
      .summary = "the gradients of attention, from its results",
      .operands = {{"q"},
                   {"k"},
                   {"v"},
                   {"o"},
                   {"lse"},
                   {"do"},
                   {"positions"},
                   {"document"},
                   {"key_positions", true},
                   {"key_document", true}},
      .results = {"dq", "dk", "dv"},
      .attributes = {{"scale", 0.0}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .sharding = attention_sharding,
      .expand = ring_attention_grad,
  };
  return def;
}

}  // namespace tessera
