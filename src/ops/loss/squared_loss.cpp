// SPDX-License-Identifier: Apache-2.0
// squared_loss(prediction, target, label_count): sum((prediction - target)^2) / label_count.
#include "ir/op_list.h"
#include "ops/row_ranges.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

void require_squared_loss_operands(const OpCall& call) {
  require_float(call, 0);
  require_same_type(call, 0, 1);
  require_type(call, 2, scalar(DType::Fp64));
}

int64_t squared_loss_workspace_bytes(const OpCall& call, const DeviceProfile&) {
  return num_pieces(call.operand(0).num_elements()) * size_bytes(DType::Fp64);
}

std::vector<TensorType> infer_types(const OpCall& call) {
  require_squared_loss_operands(call);
  return {scalar(DType::Fp64)};
}

void gradient(GradientBuilder& g) {
  const auto results = g.emit(GradientBuilder::kBoth, OpKind::squared_loss_grad,
                              {g.operand(0), g.operand(1), g.operand(2)});
  g.set(0, results[1]);
  g.set_result(0, results[0]);
}

Cost cost(const OpCall& call) { return cost_of(call, 3 * call.operand(0).num_elements() + 1); }

}  // namespace

const OpDef& squared_loss_def() {
  static const OpDef def{
      .name = "squared_loss",
      .summary = "sum of squared differences over the count of labels",
      .operands = {{"prediction"}, {"target"}, {"label_count"}},
      .results = {"loss"},
      .infer_types = infer_types,
      .gradient = gradient,
      .gradient_yields_results = true,
      .cost = cost,
      .workspace_bytes = squared_loss_workspace_bytes,
      .accumulates = {0},
  };
  return def;
}

// squared_loss_grad(prediction, target, label_count): the loss and, in the same pass, its gradient
// 2 * (prediction - target) / label_count.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  require_squared_loss_operands(call);
  return {scalar(DType::Fp64), call.operand(0)};
}

Cost grad_cost(const OpCall& call) { return cost_of(call, 4 * call.operand(0).num_elements() + 1); }

}  // namespace

const OpDef& squared_loss_grad_def() {
  static const OpDef def{
      .name = "squared_loss_grad",
      .summary = "squared_loss and its gradient in one pass",
      .operands = {{"prediction"}, {"target"}, {"label_count"}},
      .results = {"loss", "dprediction"},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .workspace_bytes = squared_loss_workspace_bytes,
      .in_place = {{.result = 1, .operand = 0}, {.result = 1, .operand = 1}},
      .accumulates = {0},
  };
  return def;
}

}  // namespace tessera
