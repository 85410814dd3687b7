// SPDX-License-Identifier: Apache-2.0
// swiglu_grad(h, dy): the gradient of gate and up, laid out as in h; with largest = 1 also the
// largest |dh| (use_fp8).
#include "ops/largest_entry.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType& h = call.operand(0);
  require_float(call, 0);
  call.require(h.dims.size() >= 2 && h.dims[h.dims.size() - 2] == Dim{"gate_up", 2},
               "h {} lacks gate_up=2 just outside its innermost dim", to_string(h));
  TensorType y = h;
  y.dims.erase(y.dims.end() - 2);
  require_type(call, 1, y);
  if (!call.attributes.integer("largest")) return {h};
  return {h, largest_entry_type()};
}

Cost cost(const OpCall& call) { return cost_of(call, 10 * call.operand(1).num_elements()); }

// Gate and value must be on one rank.
ShardingRule sharding(const OpCall& call) {
  if (call.attributes.integer("largest")) return largest_entry_sharding(call, {1});
  const Dims& dims = call.operand(0).dims;
  return {.whole = {dims[dims.size() - 2].name}};
}

}  // namespace

const OpDef& swiglu_grad_def() {
  static const OpDef def{
      .name = "swiglu_grad",
      .summary = "gradient of gate and up",
      .operands = {{"h"}, {"dy"}},
      .results = {"dh", "largest"},
      .attributes = {{"largest", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
