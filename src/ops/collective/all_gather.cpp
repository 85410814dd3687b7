// SPDX-License-Identifier: Apache-2.0
// all_gather(x): what the ranks along `axes` hold of dim `dim`, put together on each of them.
#include "ops/collective/collective.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  TensorType type = call.operand(0);
  type.dims[dim_attribute(call, "dim")].size *= ranks_of(call);
  return {type};
}

}  // namespace

const OpDef& all_gather_def() {
  static const OpDef def{
      .name = "all_gather",
      .summary = "the shards of all ranks, joined along a dim",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes({{"dim", "none"}}),
      .infer_types = infer_types,
      .cost = moving_cost,
      .communicates = true,
  };
  return def;
}

}  // namespace tessera
