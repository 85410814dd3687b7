// SPDX-License-Identifier: Apache-2.0
// matmul_epilogue(x, w, bias, addend): y = activation(matmul(x, w) + bias), and the value before
// the activation where the backward reads it; or, without one, addend + (matmul(x, w) + bias). Made
// by fuse, after the gradients; on the CPU bits as without fusion.
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
  if (call.operands.size() > 2) require_bias(call, 2, y);
  if (call.operands.size() > 3) {
    require_type(call, 3, y);
    call.require(activation == "none", "an addend comes after {}: give it to add", activation);
  }
  if (call.attributes.integer("keep_pre") == 0) return {y};
  return {y, y};
}

// An activation counts as one operation, as does what is added.
Cost cost(const OpCall& call) {
  const Contraction c = contraction_of(call.operand(0), call.operand(1));
  const bool activates = call.attributes.word("activation") != "none";
  const auto added = static_cast<int64_t>(call.operands.size()) - 2;
  const int64_t after = (activates ? 1 : 0) + added;
  return cost_of(call, 2 * c.m * c.n * c.k + after * c.m * c.n);
}

}  // namespace

const OpDef& matmul_epilogue_def() {
  static const OpDef def{
      .name = "matmul_epilogue",
      .summary = "matmul, then bias and activation or a sum while the result is in the cache",
      .operands = {{"x"}, {"w"}, {"bias", true}, {"addend", true}},
      .results = {"y", "pre"},
      .attributes = {{"activation", "none"}, {"keep_pre", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = matmul_workspace_bytes,
      .sharding = after_whole_sum,
  };
  return def;
}

}  // namespace tessera
