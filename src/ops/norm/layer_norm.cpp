// SPDX-License-Identifier: Apache-2.0
// layer_norm(x, gain, bias?): (x - mean) / deviation * gain + bias over the innermost dims. Mean
// and 1/deviation are kept for the backward.
#include "ir/op_list.h"
#include "ops/norm/norm.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType statistics = statistics_type(call);
  if (call.operands.size() > 2) require_same_type(call, 1, 2);
  return {call.operand(0), statistics, statistics};
}

void gradient(GradientBuilder& g) {
  const bool has_bias = g.operand(2) != kNone;
  const auto gradients =
      g.emit(GradientBuilder::kBoth, OpKind::layer_norm_grad,
             {g.operand(0), g.operand(1), g.result(1), g.result(2), g.result_gradient(0)},
             {{"has_bias", int64_t{has_bias}}});
  for (size_t i = 0; i < gradients.size(); ++i)
    if (g.needs(i)) g.set(i, gradients[i]);
}

// Sum; subtract, square and sum; subtract, scale, gain (and bias).
Cost cost(const OpCall& call) { return pointwise_cost(call, call.operands.size() > 2 ? 8 : 7); }

}  // namespace

const OpDef& layer_norm_def() {
  static const OpDef def{
      .name = "layer_norm",
      .summary = "x with mean 0 and deviation 1 over the innermost dims, times gain, plus bias",
      .operands = {{"x"}, {"gain"}, {.name = "bias", .optional = true}},
      .results = {"y", "mean", "rstd"},
      .attributes = {{"epsilon", 1e-5}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = norm_sharding,
  };
  return def;
}

// layer_norm_grad(x, gain, mean, rstd, dy, more?): gradients of x, gain and, with has_bias = 1,
// bias. `more` is another term of x's gradient, which is added to dx (join_norm_gradients).
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  const TensorType statistics = statistics_type(call);
  require_type(call, 2, statistics);
  require_type(call, 3, statistics);
  require_same_type(call, 0, 4);
  if (call.operands.size() > 5) require_same_type(call, 0, 5);
  const TensorType dgain = with_dtype(call.operand(1), statistics.dtype);
  if (call.attributes.integer("has_bias")) return {call.operand(0), dgain, dgain};
  return {call.operand(0), dgain};
}

// xhat 2, dy * gain 1, two sums 1 + 2, dx 4, dgain 2 (and dbias 1, more 1).
Cost grad_cost(const OpCall& call) {
  const int64_t dbias = call.attributes.integer("has_bias"), more = call.operands.size() > 5;
  return pointwise_cost(call, 12 + dbias + more);
}

int64_t grad_workspace_bytes(const OpCall& call, const DeviceProfile&) {
  return partial_sums_bytes(call, call.attributes.integer("has_bias") ? 2 : 1);
}

}  // namespace

const OpDef& layer_norm_grad_def() {
  static const OpDef def{
      .name = "layer_norm_grad",
      .summary = "gradients of layer_norm's x, gain and bias",
      .operands = {{"x"}, {"gain"}, {"mean"}, {"rstd"}, {"dy"}, {.name = "more", .optional = true}},
      .results = {"dx", "dgain", "dbias"},
      .attributes = {{"has_bias", int64_t{1}}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .workspace_bytes = grad_workspace_bytes,
      .in_place = {{.result = 0, .operand = 4}, {.result = 0, .operand = 0}},
      .accumulates = {1, 2},
      .sharding = norm_sharding,
  };
  return def;
}

}  // namespace tessera
