// SPDX-License-Identifier: Apache-2.0
// wait(y, x): y, once the collective that fills it is done. It is the same buffer; x, which the
// collective reads, stays alive until then.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) { return {call.operand(0)}; }

Cost cost(const OpCall& call) { return cost_of(call, 0); }

}  // namespace

const OpDef& wait_def() {
  static const OpDef def{
      .name = "wait",
      .summary = "what a started collective fills, once it is done",
      .operands = {{"y"}, {.name = "x", .optional = true}},
      .results = {"y"},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .aliases = true,
  };
  return def;
}

}  // namespace tessera
