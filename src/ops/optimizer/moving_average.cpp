// SPDX-License-Identifier: Apache-2.0
// moving_average(average, weights, norm_squares): decay * average + (1 - decay) * weights, in
// place. Where the norm is not finite nothing changes, as in the update of the weights.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType& weights = call.operand(1);
  require_float(call, 1);
  require_type(call, 0, with_dtype(weights, accumulator_of(weights.dtype)));
  if (call.operands.size() > 2) require_type(call, 2, scalar(DType::Fp64));
  const double decay = call.attributes.real("decay");
  call.require(decay >= 0 && decay <= 1, "decay = {} is not between 0 and 1", decay);
  return {call.operand(0)};
}

Cost cost(const OpCall& call) { return pointwise_cost(call, 3); }

}  // namespace

const OpDef& moving_average_def() {
  static const OpDef def{
      .name = "moving_average",
      .summary = "exponential moving average of the weights",
      .operands = {{"average"}, {"weights"}, {.name = "norm_squares", .optional = true}},
      .results = {"average"},
      .attributes = {{"decay", 0.999}},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
  };
  return def;
}

}  // namespace tessera
