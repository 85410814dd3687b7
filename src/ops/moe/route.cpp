// SPDX-License-Identifier: Apache-2.0
// route(logits, bias): for each token its top_k experts and the gates by which their results count.
// The bias takes part in the choice alone. Ties go to the expert with the lower index. With groups,
// a group scores the sum of its two best experts, and only the `kept` best groups are eligible
// (DeepSeek-V3).
#include "ir/op_list.h"
#include "ops/moe/routing.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const Dims dims = require_routing(call);
  const TensorType& logits = call.operand(0);
  if (call.operands.size() > 1) require_type(call, 1, {logits.dtype, {logits.dims.back()}});
  return {{logits.dtype, dims}, {DType::Int32, dims}};
}

// What is chosen is piecewise constant, so only the gates have a gradient, and the bias has none.
void gradient(GradientBuilder& g) {
  if (g.needs(0) && g.result_gradient(0) != kNone)
    g.set(0, g.emit(0, OpKind::route_grad, {g.operand(0), g.result(1), g.result_gradient(0)},
                    g.attributes())[0]);
}

// Three operations for each score, and a comparison of each for each choice.
Cost cost(const OpCall& call) {
  return cost_of(call, (3 + call.attributes.integer("top_k")) * call.operand(0).num_elements());
}

}  // namespace

const OpDef& route_def() {
  static const OpDef def{
      .name = "route",
      .summary = "the top_k experts of each token, and their gates",
      .operands = {{"logits"}, {"bias", true}},
      .results = {"gates", "chosen"},
      .attributes = routing_attributes(),
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .workspace_bytes = routing_workspace_bytes,
      .sharding = routing_sharding,
  };
  return def;
}

}  // namespace tessera
