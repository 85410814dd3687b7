// SPDX-License-Identifier: Apache-2.0
// count_labels(labels): the number of terms of the loss: labels that are not negative, or all
// elements if labels are floats.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall&) { return {scalar(DType::Fp64)}; }

// Floats are counted by their type.
Cost cost(const OpCall& call) {
  const TensorType& labels = call.operand(0);
  return cost_of(call, is_float(labels.dtype) ? 0 : labels.num_elements());
}

}  // namespace

const OpDef& count_labels_def() {
  static const OpDef def{
      .name = "count_labels",
      .summary = "how many labels are not ignored",
      .operands = {{"labels"}},
      .results = {"count"},
      .infer_types = infer_types,
      .cost = cost,
      .accumulates = {0},
  };
  return def;
}

}  // namespace tessera
