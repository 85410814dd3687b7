// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include <gtest/gtest.h>

#include "exec/testing/small_models.h"
#include "ir/parser.h"
#include "ir/printer.h"

namespace tessera {
namespace {

std::string refusal(Module module, const CompileOptions& options) {
  try {
    compile(std::move(module), options);
  } catch (const UserError& error) {
    return error.message();
  }
  return "accepted";
}

TEST(Compile, NeedsAMicrobatch) {
  EXPECT_EQ(refusal(small_model("Mlp").build(DType::Fp32, 2), {.microbatches = 0}),
            "microbatches is 0: use 1 or more");
}

TEST(Compile, NeedsABlock) {
  EXPECT_EQ(refusal(parse_module("module m maths\n"), {}), "module m has no blocks");
}

TEST(Compile, NeedsALossToTrain) {
  EXPECT_EQ(refusal(small_model("Gpt").build(DType::Fp32, 2, HeadKind::Logits), {}),
            "the last block, head, returns the stream %matmul, but training needs a loss");
}

TEST(Compile, GivesTheSameModuleAndProgramEveryTime) {
  for (const SmallModel& model : small_models()) {
    const Compiled once = compile(model.build(DType::Bf16, 2), {.microbatches = 2});
    const Compiled again = compile(model.build(DType::Bf16, 2), {.microbatches = 2});
    EXPECT_EQ(print(once.module), print(again.module));
    EXPECT_EQ(print(once.program()), print(again.program()));
  }
}

TEST(Compile, EmitsNoProgramWhenStoppedEarly) {
  const Compiled compiled =
      compile(small_model("Mlp").build(DType::Fp32, 2), {.pipeline = {.stop_after = "fuse"}});
  EXPECT_TRUE(compiled.programs.empty());
  EXPECT_EQ(compiled.module.form, Form::Local);
}

// A class is compiled once: more layers are more blocks, not more instructions.
TEST(Compile, InstructionsDoNotGrowWithLayers) {
  const auto count = [](int64_t layers) {
    SmallModel model = small_model("Llama");
    model.config.layers = layers;
    size_t instructions = 0;
    const Compiled compiled = compile(model.build(DType::Fp32, 2), {});
    for (const ProgramClass& program_class : compiled.program().classes)
      for (const auto& routine : program_class.routines) instructions += routine.size();
    return instructions;
  };
  EXPECT_EQ(count(2), count(40));
}

}  // namespace
}  // namespace tessera
