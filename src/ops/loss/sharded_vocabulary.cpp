// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/sharded_vocabulary.h"

#include "ir/op_list.h"

namespace tessera {
namespace {

// The statistics of a row's softmax that every rank needs.
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

}  // namespace

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
  return b.emit(
      OpKind::sharded_loss_grad,
      {b.operand(0), b.operand(1), b.operand(2), b.operand(3), b.index(), rows.max, rows.sums},
      attributes);
}

}  // namespace tessera
