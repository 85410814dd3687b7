// SPDX-License-Identifier: Apache-2.0
// reduce_to(x): the sum over all but the innermost `keep` dims.
#include "ops/row_ranges.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType& x = call.operand(0);
  require_float(call, 0);
  const int64_t keep = call.attributes.integer("keep"), num_dims = std::ssize(x.dims);
  call.require(keep >= 0 && keep <= num_dims, "keep = {} of the {} dims of x {}", keep, num_dims,
               to_string(x));
  return {{dtype_attribute(call, "dtype", 0), Dims(x.dims.end() - keep, x.dims.end())}};
}

Cost cost(const OpCall& call) { return cost_of(call, call.operand(0).num_elements()); }

int64_t workspace_bytes(const OpCall& call, const DeviceProfile&) {
  const int64_t cols = call.result(0).num_elements();
  const RowChunks chunks(call.operand(0).num_elements() / cols);
  return chunks.count() * cols * size_bytes(accumulator_of(call.operand(0).dtype));
}

}  // namespace

const OpDef& reduce_to_def() {
  static const OpDef def{
      .name = "reduce_to",
      .summary = "the sum over all but the innermost dims",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = {{"keep", int64_t{1}}, {"dtype", "same"}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .accumulates = {0},
  };
  return def;
}

}  // namespace tessera
