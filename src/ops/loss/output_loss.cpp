// SPDX-License-Identifier: Apache-2.0
// output_loss(x, table, labels, label_count): the cross-entropy of softmax(x . table^T), summed
// over labels that are not negative, over label_count. The full logits never exist.
#include "ops/loss/output_loss.h"

#include "ir/op_list.h"

namespace tessera {
namespace {

// With the vocabulary split over ranks: per row only the largest logit and two sums are sent, never
// logits. The statistics of a row's softmax that every rank needs.
struct RowStats {
  ValueId max, sums;
};

// The table's rows, padded, may be more than the vocabulary.
Attributes true_vocabulary(const ExpansionBuilder& b) { return {{"vocabulary", b.whole_size()}}; }

RowStats shared_row_stats(ExpansionBuilder& b) {
  const std::vector<ValueId> own =
      b.emit(OpKind::output_stats, {b.operand(0), b.operand(1), b.operand(2), b.index()},
             true_vocabulary(b));
  const ValueId max = b.all_reduce(own[0], "max");
  const ValueId sums = b.emit(OpKind::shared_stats, {own[0], own[1], own[2], max}).front();
  return {max, b.all_reduce(sums, "sum")};
}

ShardingRule output_loss_sharding(const OpCall& call) {
  const Dims& table = call.operand(1).dims;
  return {.whole = {table[1].name}, .expandable = {table[0].name}, .whole_results = {0}};
}

std::vector<ValueId> expand_output_loss(ExpansionBuilder& b) {
  const RowStats rows = shared_row_stats(b);
  return b.emit(OpKind::sharded_loss, {rows.max, rows.sums, b.operand(2), b.operand(3)});
}

std::vector<ValueId> expand_output_loss_grad(ExpansionBuilder& b) {
  const RowStats rows = shared_row_stats(b);
  Attributes attributes = true_vocabulary(b);
  attributes.set("dtype", b.attributes().word("dtype"));
  attributes.set("with_dtable", b.attributes().integer("with_dtable"));
  return b.emit(
      OpKind::sharded_loss_grad,
      {b.operand(0), b.operand(1), b.operand(2), b.operand(3), b.index(), rows.max, rows.sums},
      attributes);
}

std::vector<TensorType> infer_types(const OpCall& call) {
  require_output_loss_operands(call);
  return {scalar(DType::Fp64)};
}

void gradient(GradientBuilder& g) {
  const DType dtype = g.gradient_dtype(1);
  const std::string word = dtype == g.type(g.operand(1)).dtype ? "same" : std::string(name(dtype));
  const auto results = g.emit(GradientBuilder::kBoth, OpKind::output_loss_grad,
                              {g.operand(0), g.operand(1), g.operand(2), g.operand(3)},
                              {{"dtype", word}, {"with_dtable", int64_t{g.needs(1)}}});
  g.set_result(0, results[0]);
  g.set(0, results[1]);
  if (g.needs(1)) g.set(1, results[2]);
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

// output_loss_grad(x, table, labels, label_count): the loss and, from the same logits, its
// gradients dx and, with_dtable = 1, dtable: that of a frozen table is a third of the work.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
  require_output_loss_operands(call);
  return output_gradient_types(call);
}

// Per logit three products, and four operations: max, exp, sum, scale.
Cost grad_cost(const OpCall& call) {
  const OutputLossSizes s(call.operand(0), call.operand(1));
  return cost_of(call, s.rows * s.vocab * (flops_of_output_gradients(call) * s.width + 4));
}

}  // namespace

const OpDef& output_loss_grad_def() {
  static const OpDef def{
      .name = "output_loss_grad",
      .summary = "output_loss and its gradients, in one pass over chunks of rows",
      .operands = {{"x"}, {"table"}, {"labels"}, {"label_count"}},
      .results = {"loss", "dx", "dtable"},
      .attributes = {{"dtype", "same"}, {"with_dtable", int64_t{1}}},
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .workspace_bytes = output_loss_workspace_bytes,
      .accumulates = {0, 2},
      .sharding = output_loss_sharding,
      .expand = expand_output_loss_grad,
  };
  return def;
}

}  // namespace tessera
