// SPDX-License-Identifier: Apache-2.0
// balance_bias(bias, counts, norm_squares): raises the bias of experts that were chosen less often
// than the mean and lowers that of the others, by `rate` (loss-free balancing). Integers are
// compared, so that the mesh cannot change the sign. Where the norm of the gradients is not finite
// nothing is learnt from the step: the bias stays.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType& bias = call.operand(0);
  require_float(call, 0);
  call.require(bias.dims.size() == 1, "bias must have one dim, is {}", to_string(bias));
  require_type(call, 1, {DType::Int32, bias.dims});
  if (call.operands.size() > 2) require_type(call, 2, scalar(DType::Fp64));
  return {bias};
}

Cost cost(const OpCall& call) { return pointwise_cost(call, 3); }

// The mean is that of all experts.
ShardingRule sharding(const OpCall& call) { return {.whole = {call.operand(0).dims[0].name}}; }

}  // namespace

const OpDef& balance_bias_def() {
  static const OpDef def{
      .name = "balance_bias",
      .summary = "moves a router's bias towards experts that are chosen too seldom",
      .operands = {{"bias"}, {"counts"}, {"norm_squares", true}},
      .results = {"bias"},
      .attributes = {{"rate", 0.001}},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
