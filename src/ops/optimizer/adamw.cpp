// SPDX-License-Identifier: Apache-2.0
// adamw(weights, gradient, moment1, moment2, ...): AdamW (Loshchilov and Hutter) as PyTorch has it,
// in place, with clipping. Of flat weights only the first `decayed` elements decay (-1: all);
// `shard` tells which part of the flat buffer these are. In bf16 it rounds results by chance. Where
// norm_squares is not finite it changes nothing.
#include "ops/nothing_split.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType& weights = call.operand(0);
  require_float(call, 0);
  for (const size_t i : {1, 2, 3}) require_same_type(call, 0, i);
  for (const size_t i : {4, 5, 6}) require_type(call, i, scalar(DType::Fp64));
  if (call.operands.size() > 7) require_type(call, 7, scalar(DType::Int32));
  if (call.attributes.word("copy_dtype") == "none") return {weights, weights, weights};
  return {weights, weights, weights, with_dtype(weights, dtype_attribute(call, "copy_dtype", 0))};
}

// Clip 1, decay 1, moment1 3, moment2 4, denominator 3, update 3.
Cost cost(const OpCall& call) { return pointwise_cost(call, 15); }

// build_update cuts flat buffers itself and says which shard it is.
ShardingRule sharding(const OpCall& call) {
  const bool flat = call.attributes.integer("decayed") >= 0 || call.operands.size() > 7;
  return flat ? nothing_split(call) : ShardingRule{};
}

}  // namespace

const OpDef& adamw_def() {
  static const OpDef def{
      .name = "adamw",
      .summary = "one AdamW step with decoupled decay and clipping",
      .operands = {{"weights"},
                   {"gradient"},
                   {"moment1"},
                   {"moment2"},
                   {"learning_rate"},
                   {"step"},
                   {"norm_squares"},
                   {.name = "shard", .optional = true}},
      .results = {"weights", "moment1", "moment2", "copy"},
      .attributes = {{"beta1", 0.9},
                     {"beta2", 0.95},
                     {"epsilon", 1e-8},
                     {"weight_decay", 0.0},
                     {"decayed", int64_t{-1}},
                     {"clip_norm", 0.0},
                     {"copy_dtype", "none"},
                     {"seed", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0},
                   {.result = 1, .operand = 2},
                   {.result = 2, .operand = 3}},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
