// SPDX-License-Identifier: Apache-2.0
// output_loss(x, table, labels, label_count): the cross-entropy of softmax(x . table^T), summed
// over labels that are not negative, over label_count. The full logits never exist.
#include "ops/loss/output_loss.h"

#include "ir/op_list.h"
#include "ops/loss/sharded_vocabulary.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_output_loss_operands(call);
  return {scalar(DType::Fp64)};
}

void gradient(GradientBuilder& g) {
  const DType dtype = g.gradient_dtype(1);
  const std::string word = dtype == g.type(g.operand(1)).dtype ? "same" : std::string(name(dtype));
  const auto results =
      g.emit(GradientBuilder::kBoth, OpKind::output_loss_grad,
             {g.operand(0), g.operand(1), g.operand(2), g.operand(3)}, {{"dtype", word}});
  g.set_result(0, results[0]);
  g.set(0, results[1]);
  g.set(1, results[2]);
}

// Per logit its product, and three operations for the softmax: max, exp, sum.
Cost cost(const OpCall& call) {
  const OutputLossSizes s(call.operand(0), call.operand(1));
  return cost_of(call, s.rows * s.vocab * (2 * s.width + 3));
}

}  // namespace

const OpDef& output_loss_def() {
  static const OpDef def{
      .name = "output_loss",
      .summary = "output projection and mean cross-entropy, in chunks of rows",
      .operands = {{"x"}, {"table"}, {"labels"}, {"label_count"}},
      .results = {"loss"},
      .infer_types = infer_types,
      .gradient = gradient,
      .gradient_yields_results = true,
      .cost = cost,
      .workspace_bytes = output_loss_workspace_bytes,
      .accumulates = {0},
      .sharding = output_loss_sharding,
      .expand = expand_output_loss,
  };
  return def;
}

}  // namespace tessera
