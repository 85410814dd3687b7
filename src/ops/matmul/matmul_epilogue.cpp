// SPDX-License-Identifier: Apache-2.0
// matmul_epilogue(x, w, bias, addend): y = activation(matmul(x, w) + bias), and the value before
// the activation if the backward needs it; or, without an activation, addend + (matmul(x, w) +
// bias). With gelu_grad, matmul_epilogue(x, w, pre): y = matmul(x, w) times the derivative of gelu
// at pre. Created by fuse, after the gradients; on the CPU with the same bits as without fusion.
#include "ops/matmul/contraction.h"
#include "ops/matmul/epilogue_activation.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const DType dtype = call.operand(0).dtype;
  const TensorType y{dtype, require_contraction(call)};
  const std::string& word = call.attributes.word("activation");
  const auto activation = find_activation(word);
  call.require(activation.has_value(),
               "activation = {} is not one of none, relu, gelu, gelu_tanh, gelu_grad, "
               "gelu_tanh_grad",
               word);
  if (is_gradient(*activation)) {
    call.require(call.operands.size() == 3 && call.attributes.integer("keep_pre") == 0,
                 "{} takes only x, w and pre", word);
    require_type(call, 2, y);
    return {y};
  }
  if (call.operands.size() > 2) require_bias(call, 2, y);
  if (call.operands.size() > 3) {
    require_type(call, 3, y);
    call.require(word == "none", "an addend comes after {}: give it to add", word);
  }
  if (call.attributes.integer("keep_pre") == 0) return {y};
  return {y, y};
}

// An activation or a derivative counts as one operation, as does an addition or multiplication.
Cost cost(const OpCall& call) {
  const Contraction c = contraction_of(call.operand(0), call.operand(1));
  const bool activates = call.attributes.word("activation") != "none";
  const auto more = static_cast<int64_t>(call.operands.size()) - 2;
  const int64_t after = (activates ? 1 : 0) + more;
  return cost_of(call, 2 * c.m * c.n * c.k + after * c.m * c.n);
}

}  // namespace

const OpDef& matmul_epilogue_def() {
  static const OpDef def{
      .name = "matmul_epilogue",
      .summary = "matmul with fused bias and activation, sum, or gradient of the activation",
      .operands = {{"x"}, {"w"}, {"bias_or_pre", true}, {"addend", true}},
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
