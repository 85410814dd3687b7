// SPDX-License-Identifier: Apache-2.0
// all_reduce(x): the sum (or the largest) of x over the ranks along `axes`.
#include "ops/collective/collective.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  ranks_of(call);
  const std::string& reduction = call.attributes.word("reduction");
  call.require(reduction == "sum" || reduction == "max", "reduction = {} is not sum or max",
               reduction);
  return {call.operand(0)};
}

}  // namespace

const OpDef& all_reduce_def() {
  static const OpDef def{
      .name = "all_reduce",
      .summary = "the sum over ranks, whole on each",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes({{"reduction", "sum"}}),
      .infer_types = infer_types,
      .cost = summing_cost,
      .in_place = {{.result = 0, .operand = 0}},
      .communicates = true,
  };
  return def;
}

}  // namespace tessera
