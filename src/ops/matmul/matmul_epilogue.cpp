// SPDX-License-Identifier: Apache-2.0
// matmul_epilogue(x, w, bias): y = activation(matmul(x, w) + bias), and the value before the
// activation where the backward reads it. Made by fuse, after the gradients; bits as without
// fusion.
#include "ops/matmul/contraction.h"
#include "ops/matmul/epilogue_activation.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const DType dtype = call.operand(0).dtype;
  const TensorType y{dtype, require_contraction(call)};
  const std::string& activation = call.attributes.word("activation");
  call.require(find_activation(activation).has_value(),
               "activation = {} is not one of none, relu, gelu, gelu_tanh", activation);
  if (call.operands.size() > 2) {
    TensorType bias{dtype, {}};
    for (const Dim& dim : y.dims)
      if (!call.operand(0).has(dim.name)) bias.dims.push_back(dim);
    require_type(call, 2, bias);
  }
  if (call.attributes.integer("keep_pre") == 0) return {y};
  return {y, y};
}

// An activation counts as one operation, as does an added bias.
Cost cost(const OpCall& call) {
  const Contraction c = contraction_of(call.operand(0), call.operand(1));
  const bool activates = call.attributes.word("activation") != "none";
  const int64_t after = (activates ? 1 : 0) + (call.operands.size() > 2 ? 1 : 0);
  return cost_of(call, 2 * c.m * c.n * c.k + after * c.m * c.n);
}

// A bias and an activation come after the whole sum.
ShardingRule sharding(const OpCall& call) {
  ShardingRule rule;
  for (const Dim& dim : call.operand(0).dims)
    if (!call.result(0).has(dim.name)) rule.whole.push_back(dim.name);
  return rule;
}

}  // namespace

const OpDef& matmul_epilogue_def() {
  static const OpDef def{
      .name = "matmul_epilogue",
      .summary = "matmul, then bias and activation while the result is in the cache",
      .operands = {{"x"}, {"w"}, {"bias", true}},
      .results = {"y", "pre"},
      .attributes = {{"activation", "none"}, {"keep_pre", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = matmul_workspace_bytes,
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
