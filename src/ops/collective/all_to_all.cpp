// SPDX-License-Identifier: Apache-2.0
// all_to_all(x): from shards of dim `join` to shards of dim `split`: every rank sends each other
// one a slice of `split` and joins what it gets along `join`.
#include "ops/collective/collective.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  TensorType type = call.operand(0);
  const size_t split = dim_attribute(call, "split"), join = dim_attribute(call, "join");
  call.require(split != join, "split and join are both {}", type.dims[split].name);
  divide_dim(call, type, split);
  type.dims[join].size *= ranks_of(call);
  return {type};
}

}  // namespace

const OpDef& all_to_all_def() {
  static const OpDef def{
      .name = "all_to_all",
      .summary = "from shards of one dim to shards of another",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes({{"split", "none"}, {"join", "none"}}),
      .infer_types = infer_types,
      .cost = moving_cost,
      .communicates = true,
  };
  return def;
}

}  // namespace tessera
