// SPDX-License-Identifier: Apache-2.0
// squared_loss(prediction, target, label_count): sum((prediction - target)^2) / label_count.
#include "ops/loss/squared_loss.h"

#include "ir/op_list.h"

namespace tessera {
namespace {

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

}  // namespace tessera
