// SPDX-License-Identifier: Apache-2.0
// clear_gaps(x): x with zeros in the ranges of `gaps` ("3-32+40-64", in elements): the padding
// between the parameters of a flat buffer, so that sums over the whole buffer are right.
#include "ops/nothing_split.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  return {call.operand(0)};
}

Cost cost(const OpCall& call) { return cost_of(call, 0); }

}  // namespace

const OpDef& clear_gaps_def() {
  static const OpDef def{
      .name = "clear_gaps",
      .summary = "zeros in the padding of a flat buffer",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = {{"gaps", "none"}},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = nothing_split,
  };
  return def;
}

}  // namespace tessera
