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

Cost cost(const OpCall& call) {
  return cost_of(call, (call.attributes.integer("ranks") - 1) * call.result(0).num_elements());
}

}  // namespace

const OpDef& reduce_scatter_def() {
  static const OpDef def{
      .name = "reduce_scatter",
      .summary = "the sum over ranks, split along a dim",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = {{"axes", "none"},
                     {"ranks", int64_t{1}},
                     {"async", int64_t{0}},
                     {"dim", "none"}},
      .infer_types = infer_types,
      .cost = cost,
      .communicates = true,
  };
  return def;
}

}  // namespace tessera
