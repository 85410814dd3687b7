// SPDX-License-Identifier: Apache-2.0
// embedding_grad(index, dy, shard): a table whose row r is the sum of dy where index is r. With
// `shard`, the table is rows [shard * rows, (shard + 1) * rows) of a larger one.
#include "ir/op_list.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &index = call.operand(0), &dy = call.operand(1);
  call.require(index.dtype == DType::Int32, "index must be int32, is {}", name(index.dtype));
  require_float(call, 1);
  call.require(begins_with(dy.dims, index.dims),
               "index {} does not match the outermost dims of dy {}", to_string(index),
               to_string(dy));
  if (call.operands.size() > 2) require_type(call, 2, scalar(DType::Int32));
  const int64_t rows = call.attributes.integer("rows");
  call.require(rows > 0, "rows = {} must be positive", rows);
  TensorType table{dtype_attribute(call, "dtype", 1), {{call.attributes.word("rows_dim"), rows}}};
  table.dims.insert(table.dims.end(), dy.dims.begin() + std::ssize(index.dims), dy.dims.end());
  return {table};
}

Cost cost(const OpCall& call) { return cost_of(call, call.operand(1).num_elements()); }

// Each rank has the gradient of its own rows.
ShardingRule sharding(const OpCall& call) {
  const std::string& rows = call.attributes.word("rows_dim");
  if (call.operands.size() > 2) return {.whole = {rows}};
  return {.expandable = {rows}};
}

std::vector<ValueId> expand(ExpansionBuilder& b) {
  Attributes attributes = b.attributes();
  const int64_t rows = attributes.integer("rows");
  attributes.set("rows", (rows + b.ranks() - 1) / b.ranks());
  return b.emit(OpKind::embedding_grad, {b.operand(0), b.operand(1), b.index()}, attributes);
}

}  // namespace

const OpDef& embedding_grad_def() {
  static const OpDef def{
      .name = "embedding_grad",
      .summary = "gradient of embedding's table",
      .operands = {{"index"}, {"dy"}, {"shard", true}},
      .results = {"dtable"},
      .attributes = {{"rows", int64_t{0}}, {"rows_dim", "rows"}, {"dtype", "same"}},
      .infer_types = infer_types,
      .cost = cost,
      .accumulates = {0},
      .sharding = sharding,
      .expand = expand,
  };
  return def;
}

}  // namespace tessera
