// SPDX-License-Identifier: Apache-2.0
// add_part(y, u): y, with u added at one index of dim `dim`, which u lacks.
#include "ir/op_list.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

// Of a part of operand 0.
TensorType part_type(const OpCall& call) {
  TensorType type = call.operand(0);
  const std::string& dim = call.attributes.word("dim");
  const int at = type.index_of(dim);
  const int64_t index = call.attributes.integer("index");
  call.require(at >= 0, "{} has no dim {}", to_string(type), dim);
  call.require(index >= 0 && index < type.dims[static_cast<size_t>(at)].size,
               "index = {} is not one of {}={}", index, dim,
               type.dims[static_cast<size_t>(at)].size);
  type.dims.erase(type.dims.begin() + at);
  return type;
}

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  require_type(call, 1, part_type(call));
  return {call.operand(0)};
}

void gradient(GradientBuilder& g) {
  if (g.needs(0)) pass_gradient(g, 0);
  if (g.needs(1)) g.set(1, g.emit(1, OpKind::take_part, {g.result_gradient(0)}, g.attributes())[0]);
}

Cost cost(const OpCall& call) { return cost_of(call, call.operand(1).num_elements()); }

ShardingRule sharding(const OpCall& call) { return {.whole = {call.attributes.word("dim")}}; }

}  // namespace

const OpDef& add_part_def() {
  static const OpDef def{
      .name = "add_part",
      .summary = "y, with u added at one index of a dim that u lacks",
      .operands = {{"y"}, {"u"}},
      .results = {"sum"},
      .attributes = {{"dim", "none"}, {"index", int64_t{0}}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = sharding,
  };
  return def;
}

// take_part(y): what y has at one index of dim `dim`.
namespace {

std::vector<TensorType> infer_part(const OpCall& call) {
  require_float(call, 0);
  return {part_type(call)};
}

// The rest of y is not read.
Cost part_cost(const OpCall& call) { return {.bytes = 2 * call.result(0).bytes()}; }

}  // namespace

const OpDef& take_part_def() {
  static const OpDef def{
      .name = "take_part",
      .summary = "what y has at one index of a dim",
      .operands = {{"y"}},
      .results = {"u"},
      .attributes = {{"dim", "none"}, {"index", int64_t{0}}},
      .infer_types = infer_part,
      .cost = part_cost,
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
