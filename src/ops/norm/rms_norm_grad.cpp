// SPDX-License-Identifier: Apache-2.0
// rms_norm_grad(x, gain, rstd, dy, more?): gradients of x and gain. `more` is another term of x's
// gradient, which is added to dx (join_norm_gradients).
#include "ops/norm/norm.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType statistics = statistics_type(call);
  require_type(call, 2, statistics);
  require_same_type(call, 0, 3);
  if (call.operands.size() > 4) require_same_type(call, 0, 4);
  return {call.operand(0), with_dtype(call.operand(1), statistics.dtype)};
}

// xhat 1, dy * gain 1, their sum 2, dx 3, dgain 2 (and more 1).
Cost cost(const OpCall& call) { return pointwise_cost(call, call.operands.size() > 4 ? 10 : 9); }

int64_t workspace_bytes(const OpCall& call, const DeviceProfile&) {
  return partial_sums_bytes(call, 1);
}

}  // namespace

const OpDef& rms_norm_grad_def() {
  static const OpDef def{
      .name = "rms_norm_grad",
      .summary = "gradients of rms_norm's x and gain",
      .operands = {{"x"}, {"gain"}, {"rstd"}, {"dy"}, {.name = "more", .optional = true}},
      .results = {"dx", "dgain"},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .in_place = {{.result = 0, .operand = 3}, {.result = 0, .operand = 0}},
      .accumulates = {1},
      .sharding = norm_sharding,
  };
  return def;
}

}  // namespace tessera
