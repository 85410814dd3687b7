// SPDX-License-Identifier: Apache-2.0
// layer_norm_grad(x, gain, mean, rstd, dy, more?): gradients of x, gain and, with has_bias = 1,
// bias. `more` is another term of x's gradient, which is added to dx (join_norm_gradients).
#include "ops/norm/norm.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
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
Cost cost(const OpCall& call) {
  const int64_t dbias = call.attributes.integer("has_bias"), more = call.operands.size() > 5;
  return pointwise_cost(call, 12 + dbias + more);
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile&) {
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
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .in_place = {{.result = 0, .operand = 4}, {.result = 0, .operand = 0}},
      .accumulates = {1, 2},
      .sharding = norm_sharding,
  };
  return def;
}

}  // namespace tessera
