// SPDX-License-Identifier: Apache-2.0
#include "ops/type_rules.h"

#include "ir/op_list.h"

namespace tessera {

std::string_view operand_name(const OpCall& call, size_t i) {
  return op_def(call.op).operands[i].name;
}

void require_float(const OpCall& call, size_t i) {
  call.require(is_float(call.operand(i).dtype), "{} must be floating point, is {}",
               operand_name(call, i), name(call.operand(i).dtype));
}

void require_type(const OpCall& call, size_t i, const TensorType& wanted) {
  call.require(call.operand(i) == wanted, "{} must be {}, is {}", operand_name(call, i),
               to_string(wanted), to_string(call.operand(i)));
}

void require_same_type(const OpCall& call, size_t i, size_t j) {
  require_type(call, j, call.operand(i));
}

DType dtype_attribute(const OpCall& call, std::string_view attribute, size_t i) {
  const std::string& word = call.attributes.word(attribute);
  if (word == "same") return call.operand(i).dtype;
  const std::optional<DType> dtype = dtype_from_name(word);
  call.require(dtype && is_float(*dtype), "{} = {} is not one of same, fp64, fp32, bf16", attribute,
               word);
  return *dtype;
}

void pass_gradient(GradientBuilder& g, size_t i) {
  const ValueId dy = g.result_gradient(0);
  const DType dtype = g.gradient_dtype(i);
  if (g.type(dy).dtype == dtype) return g.set(i, dy);
  g.set(i, g.emit(i, OpKind::accumulate, {dy}, {{"dtype", std::string(name(dtype))}})[0]);
}

Cost cost_of(const OpCall& call, int64_t flops) {
  return {.flops = flops, .bytes = bytes_of(call.operands) + bytes_of(call.results)};
}

}  // namespace tessera
