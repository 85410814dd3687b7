// SPDX-License-Identifier: Apache-2.0
// rms_norm(x, gain): x / sqrt(mean(x^2) + epsilon) * gain over the innermost dims: the model's, or
// one head's. The factor 1 / sqrt(...) is kept for the backward. With largest = 1 also the largest
// |y| (fold_largest_entries).
#include "ir/op_list.h"
#include "ops/largest_entry.h"
#include "ops/norm/norm.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  std::vector<TensorType> results{call.operand(0), statistics_type(call)};
  if (call.attributes.integer("largest")) results.push_back(largest_entry_type());
  return results;
}

ShardingRule sharding(const OpCall& call) {
  return call.attributes.integer("largest") ? largest_entry_sharding(call, {2})
                                            : norm_sharding(call);
}

void gradient(GradientBuilder& g) {
  const auto gradients = g.emit(GradientBuilder::kBoth, OpKind::rms_norm_grad,
                                {g.operand(0), g.operand(1), g.result(1), g.result_gradient(0)});
  for (size_t i = 0; i < gradients.size(); ++i)
    if (g.needs(i)) g.set(i, gradients[i]);
}

// Square and sum; scale and gain.
Cost cost(const OpCall& call) { return pointwise_cost(call, 4); }

}  // namespace

const OpDef& rms_norm_def() {
  static const OpDef def{
      .name = "rms_norm",
      .summary = "x with mean square 1 over the innermost dims, times gain",
      .operands = {{"x"}, {"gain"}},
      .results = {"y", "rstd", "largest"},
      .attributes = {{"epsilon", 1e-5}, {"largest", int64_t{0}}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = sharding,
  };
  return def;
}

// rms_norm_grad(x, gain, rstd, dy, more?): gradients of x and gain. `more` is another term of x's
// gradient, which is added to dx (join_norm_gradients). With largest = 1 also the largest |dx|.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  const TensorType statistics = statistics_type(call);
  require_type(call, 2, statistics);
  require_same_type(call, 0, 3);
  if (call.operands.size() > 4) require_same_type(call, 0, 4);
  std::vector<TensorType> results{call.operand(0), with_dtype(call.operand(1), statistics.dtype)};
  if (call.attributes.integer("largest")) results.push_back(largest_entry_type());
  return results;
}

// xhat 1, dy * gain 1, their sum 2, dx 3, dgain 2 (and more 1).
Cost grad_cost(const OpCall& call) {
  return pointwise_cost(call, call.operands.size() > 4 ? 10 : 9);
}

int64_t grad_workspace_bytes(const OpCall& call, const DeviceProfile&) {
  return partial_sums_bytes(call, 1);
}

}  // namespace

const OpDef& rms_norm_grad_def() {
  static const OpDef def{
      .name = "rms_norm_grad",
      .summary = "gradients of rms_norm's x and gain",
      .operands = {{"x"}, {"gain"}, {"rstd"}, {"dy"}, {.name = "more", .optional = true}},
      .results = {"dx", "dgain", "largest"},
      .attributes = {{"largest", int64_t{0}}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .workspace_bytes = grad_workspace_bytes,
      .in_place = {{.result = 0, .operand = 3}, {.result = 0, .operand = 0}},
      .accumulates = {1},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
