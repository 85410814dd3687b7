// SPDX-License-Identifier: Apache-2.0
// nesterov(gradient, momentum, step, norm_squares, shard): the momentum is decayed and gets the
// clipped gradient; the direction is the gradient and the decayed new momentum. Of a shard of a
// flat buffer, as an optimizer's op (optimizer_op.h); where the norm is not finite the momentum
// stays.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  require_same_type(call, 0, 1);
  for (const size_t i : {2, 3}) require_type(call, i, scalar(DType::Fp64));
  if (call.operands.size() > 4) require_type(call, 4, scalar(DType::Int32));
  const TensorType& momentum = call.operand(1);
  return {with_dtype(momentum, dtype_attribute(call, "dtype", 1)), momentum};
}

// Clip 1, momentum 2, direction 2.
Cost cost(const OpCall& call) { return pointwise_cost(call, 5); }

ShardingRule sharding(const OpCall& call) {
  return call.operands.size() > 4 ? nothing_split(call) : ShardingRule{};
}

}  // namespace

const OpDef& nesterov_def() {
  static const OpDef def{
      .name = "nesterov",
      .summary = "the direction of a step with momentum, and the momentum",
      .operands = {{"gradient"},
                   {"momentum"},
                   {"step"},
                   {"norm_squares"},
                   {.name = "shard", .optional = true}},
      .results = {"direction", "momentum"},
      .attributes = {{"momentum", 0.95},
                     {"clip_norm", 0.0},
                     {"dtype", "same"},
                     {"seed", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 1, .operand = 1}},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
