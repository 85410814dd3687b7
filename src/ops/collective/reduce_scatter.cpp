// SPDX-License-Identifier: Apache-2.0
// reduce_scatter(x): the sum of x over the ranks along `axes`, each keeping its share of dim `dim`.
#include "ops/collective/collective.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  TensorType type = call.operand(0);
  divide_dim(call, type, dim_attribute(call, "dim"));
  return {type};
}

}  // namespace

const OpDef& reduce_scatter_def() {
  static const OpDef def{
      .name = "reduce_scatter",
      .summary = "the sum over ranks, split along a dim",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes({{"dim", "none"}}),
      .infer_types = infer_types,
      .cost = summing_cost,
      .communicates = true,
  };
  return def;
}

}  // namespace tessera
