// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/emit.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

std::string error_of(OpKind op, std::vector<TensorType> operands, const Attributes& given = {}) {
  try {
    infer_types(op, complete_attributes(op, given), operands);
  } catch (const UserError& error) {
    return error.message();
  }
  return "";
}

const TensorType kX{DType::Fp32, {{"batch", 2}, {"seq", 3}, {"d", 8}}};
const TensorType kIndex{DType::Int32, {{"batch", 2}, {"seq", 3}}};

TEST(OpErrors, NameTheOpTheOperandAndBothTypes) {
  EXPECT_EQ(error_of(OpKind::add, {kX, {DType::Fp32, {{"d", 8}}}}),
            "add: y must be fp32[batch=2, seq=3, d=8], is fp32[d=8]");
  EXPECT_EQ(error_of(OpKind::bias_add, {kX, {DType::Fp32, {{"d", 6}}}}),
            "bias_add: bias fp32[d=6] does not match the innermost dims of x "
            "fp32[batch=2, seq=3, d=8]");
  EXPECT_EQ(error_of(OpKind::rms_norm, {kX, {DType::Bf16, {{"d", 8}}}}),
            "rms_norm: gain bf16[d=8] does not match the innermost dims of x "
            "fp32[batch=2, seq=3, d=8]");
  EXPECT_EQ(error_of(OpKind::relu, {kIndex}), "relu: x must be floating point, is int32");
}

TEST(OpErrors, NameTheAttributeAndWhatItMayBe) {
  EXPECT_EQ(error_of(OpKind::gelu, {kX}, {{"approximation", "fast"}}),
            "gelu: approximation = fast is not one of none, tanh");
  EXPECT_EQ(error_of(OpKind::accumulate, {kX}, {{"dtype", "int32"}}),
            "accumulate: dtype = int32 is not one of same, fp64, fp32, bf16");
  EXPECT_EQ(error_of(OpKind::reduce_to, {kX}, {{"keep", int64_t{4}}}),
            "reduce_to: keep = 4 of the 3 dims of x fp32[batch=2, seq=3, d=8]");
  EXPECT_EQ(error_of(OpKind::moving_average, {kX, kX}, {{"decay", 1.5}}),
            "moving_average: decay = 1.5 is not between 0 and 1");
}

TEST(OpErrors, SayWhatTheGradientOfAnActivationNeeds) {
  const TensorType w{DType::Fp32, {{"d", 8}, {"e", 4}}}, bias{DType::Fp32, {{"e", 4}}};
  const Attributes gradient{{"activation", "gelu_grad"}};
  EXPECT_EQ(error_of(OpKind::matmul_epilogue, {kX, w}, gradient),
            "matmul_epilogue: gelu_grad takes only x, w and pre");
  EXPECT_EQ(error_of(OpKind::matmul_epilogue, {kX, w, bias}, gradient),
            "matmul_epilogue: bias_or_pre must be fp32[batch=2, seq=3, e=4], is fp32[e=4]");
}

TEST(OpErrors, SayWhichDimIsWrong) {
  EXPECT_EQ(error_of(OpKind::swiglu, {kX}),
            "swiglu: h fp32[batch=2, seq=3, d=8] lacks gate_up=2 just outside its innermost dim");
  EXPECT_EQ(error_of(OpKind::rope, {{DType::Fp32, {{"batch", 2}, {"seq", 3}, {"e", 5}}}, kIndex}),
            "rope: e (5) must be even: pairs are rotated");
  EXPECT_EQ(error_of(OpKind::embedding, {{DType::Fp32, {{"vocab", 9}, {"seq", 4}}}, kIndex}),
            "embedding: dim seq is in both table fp32[vocab=9, seq=4] and index "
            "int32[batch=2, seq=3]");
}

}  // namespace
}  // namespace tessera
