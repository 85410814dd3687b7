// SPDX-License-Identifier: Apache-2.0
// take_position(x, index): the position `index` of each sequence.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  TensorType type = call.operand(0);
  const TensorType& index = call.operand(1);
  require_float(call, 0);
  call.require(index.dtype == DType::Int32, "index must be int32, is {}", name(index.dtype));
  call.require(type.dims.size() > index.dims.size() && begins_with(type.dims, index.dims),
               "index {} does not match the outermost dims of x {}", to_string(index),
               to_string(type));
  type.dims.erase(type.dims.begin() + std::ssize(index.dims));
  return {type};
}

Cost cost(const OpCall& call) { return cost_of(call, 0); }

ShardingRule sharding(const OpCall& call) {
  return {.whole = {call.operand(0).dims[call.operand(1).dims.size()].name}};
}

}  // namespace

const OpDef& take_position_def() {
  static const OpDef def{
      .name = "take_position",
      .summary = "one position of each sequence",
      .operands = {{"x"}, {"index"}},
      .results = {"y"},
      .infer_types = infer_types,
      .cost = cost,
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
