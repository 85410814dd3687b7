// SPDX-License-Identifier: Apache-2.0
// route_grad(logits, chosen, d_gates): the gradient of the logits, through the gates of the experts
// that route chose. The gates are computed again.
#include "ops/moe/routing.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const Dims dims = require_routing(call);
  require_type(call, 1, {DType::Int32, dims});
  require_type(call, 2, {call.operand(0).dtype, dims});
  return {call.operand(0)};
}

// Five operations for each score.
Cost cost(const OpCall& call) { return cost_of(call, 5 * call.operand(0).num_elements()); }

}  // namespace

const OpDef& route_grad_def() {
  static const OpDef def{
      .name = "route_grad",
      .summary = "gradient of a router's logits",
      .operands = {{"logits"}, {"chosen"}, {"d_gates"}},
      .results = {"d_logits"},
      .attributes = routing_attributes(),
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = routing_workspace_bytes,
      .sharding = routing_sharding,
  };
  return def;
}

}  // namespace tessera
