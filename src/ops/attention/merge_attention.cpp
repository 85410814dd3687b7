// SPDX-License-Identifier: Apache-2.0
// merge_attention(o, lse, o2, lse2): the attention over the keys of both, which must be disjoint.
// lse = -inf on one side means that it saw no key; o is 0 there.
#include "ops/attention/attention.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  const TensorType& o = call.operand(0);
  call.require(!o.dims.empty(), "o has no dims");
  require_type(call, 1, lse_type(o));
  require_same_type(call, 0, 2);
  require_same_type(call, 1, 3);
  return {call.operand(0), call.operand(1)};
}

// Per element two products and their sum; per row ten: the larger, two differences, two
// exponentials, their sum, two weights, a logarithm and a sum.
Cost cost(const OpCall& call) {
  return cost_of(call, 3 * call.operand(0).num_elements() + 10 * call.operand(1).num_elements());
}

// A head is weighted by its own logsumexps.
ShardingRule sharding(const OpCall& call) { return {.whole = {call.operand(0).dims.back().name}}; }

}  // namespace

const OpDef& merge_attention_def() {
  static const OpDef def{
      .name = "merge_attention",
      .summary = "merges two attention results over disjoint keys, using their logsumexps",
      .operands = {{"o"}, {"lse"}, {"o2"}, {"lse2"}},
      .results = {"o", "lse"},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}, {.result = 1, .operand = 1}},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
