// SPDX-License-Identifier: Apache-2.0
#include "ir/builder.h"

#include <gtest/gtest.h>

#include "ir/op_list.h"
#include "ir/printer.h"
#include "ops/calls.h"

namespace tessera {
namespace {

const Dims kRows{{"batch", 2}, {"d", 4}};

TEST(Builder, WritesWhatTheTextFormSays) {
  ModuleBuilder module("m", DType::Bf16);
  BlockBuilder& b = module.block_class("first");
  Tensor x = b.batch_float("x", kRows);
  b.returns(relu(bias_add(x, b.parameter("bias", {{"d", 4}}, zeros()))));
  module.block("block.0", "first");
  EXPECT_EQ(print(module.build()),
            "module m maths\n"
            "class first {\n"
            "  batch %x: bf16[batch=2, d=4]\n"
            "  state %bias: bf16[d=4] parameter zeros\n"
            "  %bias_add: bf16[batch=2, d=4] = bias_add(%x, %bias)\n"
            "  %relu: bf16[batch=2, d=4] = relu(%bias_add)\n"
            "  return stream %relu\n"
            "}\n"
            "block block.0 = first\n");
}

TEST(Builder, DecayFollowsTheNumberOfDimsUnlessTold) {
  BlockBuilder b("c", DType::Fp32);
  const auto decays = [&](Tensor tensor) { return b.graph().input_of(tensor.id)->state->decay; };
  EXPECT_FALSE(decays(b.parameter("gain", {{"d", 4}}, ones())));
  EXPECT_TRUE(decays(b.parameter("w", {{"d", 4}, {"mlp", 8}}, normal(0.02))));
  EXPECT_FALSE(decays(b.parameter("bias", {{"heads", 4}, {"e", 8}}, zeros(), /*decay=*/false)));
}

TEST(Builder, AStepValueOfOneNameIsOneInput) {
  BlockBuilder b("c", DType::Fp32);
  EXPECT_EQ(b.step("label_count").id, b.step("label_count").id);
  EXPECT_EQ(to_string(b.step("label_count").type()), "fp64[]");
}

TEST(Builder, AnOperandOfAnotherBlockIsOurMistake) {
  BlockBuilder a("a", DType::Fp32), b("b", DType::Fp32);
  Tensor x = a.stream("x", kRows), y = b.stream("y", kRows);
  EXPECT_THROW(a.emit(OpKind::add, {x, y}), InternalError);
}

TEST(Builder, ATiedBlockMarksItsParameter) {
  ModuleBuilder module("m", DType::Fp32);
  BlockBuilder& first = module.block_class("first");
  first.returns(
      bias_add(first.batch_float("x", kRows), first.parameter("bias", {{"d", 4}}, zeros())));
  BlockBuilder& second = module.block_class("second");
  second.returns(bias_add(second.stream("x", kRows), second.parameter("b", {{"d", 4}}, zeros())));
  module.block("first", "first");
  module.block("second", "second", {{"b", "first.bias"}});
  const Module built = module.build();
  EXPECT_TRUE(built.classes[1].graph.find_input(InputKind::State, "b")->state->tied);
  EXPECT_FALSE(built.classes[0].graph.find_input(InputKind::State, "bias")->state->tied);
  EXPECT_EQ(built.state_name(built.blocks[1], "b"), "first.bias");
  EXPECT_EQ(built.state_name(built.blocks[0], "bias"), "first.bias");
}

TEST(Builder, AnUnknownClassIsNamed) {
  ModuleBuilder module("m", DType::Fp32);
  try {
    module.block("layer.0", "layer");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "block layer.0: there is no block class layer");
  }
}

TEST(Emit, AnAttributeOfTheWrongTypeIsNamed) {
  Graph graph;
  const ValueId x = graph.add_input({.kind = InputKind::Stream, .value = kNone, .state = {}}, "x",
                                    {DType::Fp32, kRows});
  const auto message = [&](Attributes attributes) {
    try {
      emit(graph, OpKind::gelu, {x}, {.attributes = std::move(attributes)});
    } catch (const UserError& error) {
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_EQ(message({{"approximation", int64_t{1}}}),
            "gelu: attribute approximation = 1 has the wrong type (default none)");
  EXPECT_EQ(message({{"exact", int64_t{1}}}), "gelu: no attribute exact");
}

}  // namespace
}  // namespace tessera
