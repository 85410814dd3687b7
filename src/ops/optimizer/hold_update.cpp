// SPDX-License-Identifier: Apache-2.0
// hold_update(norm_squares, need): norm_squares where `need` is at most 1, else infinity. Updates
// change nothing where the norm is not finite: a step whose experts had too little room leaves
// everything as it was.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  for (const size_t i : {0, 1}) require_type(call, i, scalar(DType::Fp64));
  return {scalar(DType::Fp64)};
}

Cost cost(const OpCall& call) { return cost_of(call, 1); }

}  // namespace

const OpDef& hold_update_def() {
  static const OpDef def{
      .name = "hold_update",
      .summary = "the squared norm, or infinity, by which nothing is updated",
      .operands = {{"norm_squares"}, {"need"}},
      .results = {"norm_squares"},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = nothing_split,
  };
  return def;
}

}  // namespace tessera
