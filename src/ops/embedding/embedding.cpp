// SPDX-License-Identifier: Apache-2.0
// embedding(table, index, shard): row index[i] of the table for every i. With `shard`, the table
// holds rows [shard * rows, (shard + 1) * rows) of a larger one and other indices give zeros, so
// that the lookups of all shards add up.
#include "ir/op_list.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &table = call.operand(0), &index = call.operand(1);
  require_float(call, 0);
  call.require(!table.dims.empty(), "table has no dims");
  call.require(index.dtype == DType::Int32, "index must be int32, is {}", name(index.dtype));
  if (call.operands.size() > 2) require_type(call, 2, scalar(DType::Int32));
  TensorType result{table.dtype, index.dims};
  for (size_t i = 1; i < table.dims.size(); ++i) {
    call.require(!index.has(table.dims[i].name), "dim {} is in both table {} and index {}",
                 table.dims[i].name, to_string(table), to_string(index));
    result.dims.push_back(table.dims[i]);
  }
  return {result};
}

void gradient(GradientBuilder& g) {
  if (!g.needs(0)) return;
  const Dim rows = g.type(g.operand(0)).dims.front();
  std::vector<ValueId> operands{g.operand(1), g.result_gradient(0)};
  if (g.operand(2) != kNone) operands.push_back(g.operand(2));
  g.set(0, g.emit(0, OpKind::embedding_grad, std::move(operands),
                  {{"rows", rows.size},
                   {"rows_dim", rows.name},
                   {"dtype", std::string(name(g.gradient_dtype(0)))}})[0]);
}

Cost cost(const OpCall& call) { return cost_of(call, 0); }

// Rows may be split, once: each rank looks up its own, and the sum over ranks is the lookup.
ShardingRule sharding(const OpCall& call) {
  const std::string& rows = call.operand(0).dims.front().name;
  if (call.operands.size() > 2) return {.whole = {rows}};
  return {.expandable = {rows}};
}

std::vector<ValueId> expand(ExpansionBuilder& b) {
  return b.emit(OpKind::embedding, {b.operand(0), b.operand(1), b.index()}, b.attributes());
}

}  // namespace

const OpDef& embedding_def() {
  static const OpDef def{
      .name = "embedding",
      .summary = "rows of a table, looked up by index",
      .operands = {{"table"}, {"index"}, {"shard", true}},
      .results = {"y"},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .sharding = sharding,
      .expand = expand,
  };
  return def;
}

// embedding_grad(index, dy, shard): a table whose row r is the sum of dy where index is r. With
// `shard`, the table is rows [shard * rows, (shard + 1) * rows) of a larger one.
namespace {

std::vector<TensorType> infer_grad_types(const OpCall& call) {
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

Cost grad_cost(const OpCall& call) { return cost_of(call, call.operand(1).num_elements()); }

// Each rank has the gradient of its own rows.
ShardingRule grad_sharding(const OpCall& call) {
  const std::string& rows = call.attributes.word("rows_dim");
  if (call.operands.size() > 2) return {.whole = {rows}};
  return {.expandable = {rows}};
}

std::vector<ValueId> expand_grad(ExpansionBuilder& b) {
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
      .infer_types = infer_grad_types,
      .cost = grad_cost,
      .accumulates = {0},
      .sharding = grad_sharding,
      .expand = expand_grad,
  };
  return def;
}

}  // namespace tessera
