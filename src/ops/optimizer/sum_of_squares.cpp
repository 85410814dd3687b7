// SPDX-License-Identifier: Apache-2.0
// sum_of_squares(x): scale times the sum of x^2, for the gradient norm; kept in fp64 whatever x is.
#include "ops/row_ranges.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  return {scalar(DType::Fp64)};
}

Cost cost(const OpCall& call) { return cost_of(call, 2 * call.operand(0).num_elements() + 1); }

int64_t workspace_bytes(const OpCall& call, const DeviceProfile&) {
  return num_pieces(call.operand(0).num_elements()) * size_bytes(DType::Fp64);
}

}  // namespace

const OpDef& sum_of_squares_def() {
  static const OpDef def{
      .name = "sum_of_squares",
      .summary = "the sum of x^2",
      .operands = {{"x"}},
      .results = {"sum"},
      .attributes = {{"scale", 1.0}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .accumulates = {0},
  };
  return def;
}

}  // namespace tessera
