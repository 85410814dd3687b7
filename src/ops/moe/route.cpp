// SPDX-License-Identifier: Apache-2.0
// route(logits, bias): for each token its top_k experts and the gates by which their results count.
// The bias takes part in the choice alone. Ties go to the expert with the lower index. With groups,
// a group scores the sum of its two best experts, and only the `kept` best groups are eligible
// (DeepSeek-V3).
#include "ir/op_list.h"
#include "ops/moe/routing.h"

namespace tessera {
namespace {

std::vector<AttributeSpec> routing_attributes() {
  return {{"score", "softmax"},   {"normalise", int64_t{0}}, {"scale", 1.0},
          {"groups", int64_t{1}}, {"kept", int64_t{1}},      {"top_k", int64_t{1}}};
}

// Checks logits (operand 0) and the attributes; gives the dims of gates.
Dims require_routing(const OpCall& call) {
  const TensorType& logits = call.operand(0);
  require_float(call, 0);
  call.require(logits.dtype == accumulator_of(logits.dtype),
               "logits are {}, which is too coarse to choose by: use fp32", name(logits.dtype));
  call.require(!logits.dims.empty(), "logits have no dim of experts");
  const std::string& score = call.attributes.word("score");
  call.require(score == "softmax" || score == "sigmoid" || score == "topk_softmax",
               "score = {} is not one of softmax, sigmoid, topk_softmax", score);
  const Routing routing(call.attributes, logits.dims.back().size);
  call.require(routing.groups >= 1 && routing.experts % routing.groups == 0,
               "{} experts cannot form {} equal groups", routing.experts, routing.groups);
  call.require(routing.kept >= 1 && routing.kept <= routing.groups,
               "kept = {} is not between 1 and the {} groups", routing.kept, routing.groups);
  const int64_t eligible = routing.experts / routing.groups * routing.kept;
  call.require(routing.top_k >= 1 && routing.top_k <= eligible,
               "top_k = {} is not between 1 and the {} experts to choose from", routing.top_k,
               eligible);
  Dims dims(logits.dims.begin(), logits.dims.end() - 1);
  call.require(!logits.has("top_k"), "logits {} have a dim named top_k", to_string(logits));
  dims.push_back({"top_k", routing.top_k});
  return dims;
}

int64_t routing_workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  return routing_scratch(call.operand(0).dims.back().size) * size_bytes(call.operand(0).dtype) *
         profile.threads;
}

// A token needs the scores of all experts, and all of its choices.
ShardingRule routing_sharding(const OpCall& call) {
  return {.whole = {call.operand(0).dims.back().name, "top_k"}};
}

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

// route_grad(logits, chosen, d_gates): the gradient of the logits, through the gates of the experts
// that route chose. The gates are computed again.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  const Dims dims = require_routing(call);
  require_type(call, 1, {DType::Int32, dims});
  require_type(call, 2, {call.operand(0).dtype, dims});
  return {call.operand(0)};
}

// Five operations for each score.
Cost grad_cost(const OpCall& call) { return cost_of(call, 5 * call.operand(0).num_elements()); }

}  // namespace

const OpDef& route_grad_def() {
  static const OpDef def{
      .name = "route_grad",
      .summary = "gradient of a router's logits",
      .operands = {{"logits"}, {"chosen"}, {"d_gates"}},
      .results = {"d_logits"},
      .attributes = routing_attributes(),
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .workspace_bytes = routing_workspace_bytes,
      .sharding = routing_sharding,
  };
  return def;
}

}  // namespace tessera
