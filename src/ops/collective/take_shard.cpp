// SPDX-License-Identifier: Apache-2.0
// take_shard(x, index): of dim `dim`, cut into `ranks` pieces, the one that index names.
#include "ops/collective/collective.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_type(call, 1, scalar(DType::Int32));
  TensorType type = call.operand(0);
  divide_dim(call, type, dim_attribute(call, "dim"));
  return {type};
}

}  // namespace

const OpDef& take_shard_def() {
  static const OpDef def{
      .name = "take_shard",
      .summary = "one rank's share of a dim",
      .operands = {{"x"}, {"index"}},
      .results = {"y"},
      .attributes = {{"ranks", int64_t{1}}, {"dim", "none"}},
      .infer_types = infer_types,
      .cost = moving_cost,
  };
  return def;
}

}  // namespace tessera
