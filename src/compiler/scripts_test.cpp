// SPDX-License-Identifier: Apache-2.0
#include "compiler/scripts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "compiler/flat_uses.h"
#include "exec/testing/small_models.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

Program compiled(const std::string& model, int microbatches, HeadKind head = HeadKind::Loss) {
  return compile(small_model(model).build(DType::Fp32, 2, head),
                 {.training = head == HeadKind::Loss, .microbatches = microbatches})
      .program();
}

// "backward head 0", in the order of the script.
std::vector<std::string> calls(const Program& program, std::string_view script) {
  std::vector<std::string> text;
  for (const ScriptCall& call : program.script(script).calls)
    text.push_back(fmt::format("{} {} {}", name(call.routine),
                               program.blocks[static_cast<size_t>(call.block)].name,
                               call.microbatch));
  return text;
}

// Every write into an accumulator, in the order of the script: "backward head 0: write d_table".
// The buffer is named by what it is bound to.
std::vector<std::string> writes(const Program& program, std::string_view script,
                                std::string_view target) {
  std::vector<std::string> text;
  const StateBuffer* state = program.find_state(target);
  const HostBuffer* step = program.find_step_value(target);
  const int64_t wanted = state ? state->gradient.offset +
                                     state->gradient.begin * size_bytes(state->gradient_type.dtype)
                               : step->offset;
  for (const ScriptCall& call : program.script(script).calls) {
    const ProgramBlock& block = program.blocks[static_cast<size_t>(call.block)];
    size_t next = 0;
    for (const Instruction& instruction : program.class_of(block).routine(call.routine))
      for (const int result : instruction.accumulators) {
        const bool adds = call.accumulate.at(next++);
        const int buffer = writes(instruction)[static_cast<size_t>(result)];
        if (block.offsets[static_cast<size_t>(buffer)] == wanted)
          text.push_back(fmt::format("{} {} {}: {}", name(call.routine), block.name,
                                     call.microbatch, adds ? "add" : "write"));
      }
    EXPECT_EQ(next, call.accumulate.size());
  }
  return text;
}

using Lines = std::vector<std::string>;

TEST(Scripts, AStepRunsForwardThenBackwardForEachMicrobatch) {
  EXPECT_EQ(calls(compiled("Mlp", 2), "train_step"),
            (Lines{"begin head 0",       "begin head 1",                              //
                   "forward layer.0 0",  "forward layer.1 0",  "forward layer.2 0",   //
                   "backward head 0",    "backward layer.2 0", "backward layer.1 0",  //
                   "backward layer.0 0",                                              //
                   "forward layer.0 1",  "forward layer.1 1",  "forward layer.2 1",   //
                   "backward head 1",                                                 //
                   "backward layer.2 1", "reduce layer.2 1",                          //
                   "backward layer.1 1", "reduce layer.1 1",                          //
                   "backward layer.0 1", "reduce layer.0 1",                          //
                   "norm layer.0 1",     "norm layer.1 1",     "norm layer.2 1",      //
                   "update layer.0 1",   "update layer.1 1",   "update layer.2 1"}));
}

TEST(Scripts, EvaluateRunsForwardAloneAndItsOwnLoss) {
  EXPECT_EQ(calls(compiled("Mlp", 1), "evaluate"),
            (Lines{"begin head 0", "evaluate layer.0 0", "evaluate layer.1 0", "evaluate layer.2 0",
                   "evaluate head 0"}));
}

TEST(Scripts, AForwardProgramCannotTrain) {
  const Program program = compiled("Gpt", 1, HeadKind::Logits);
  ASSERT_EQ(program.scripts.size(), 1u);
  EXPECT_EQ(program.scripts.front().name, "evaluate");
  EXPECT_THROW(program.script("train_step"), InternalError);
}

// It has no gradient of an input to give.
TEST(Scripts, ARankWithTheEmbeddingAloneTrainsWhereTheBackwardIsSplit) {
  const SmallModel model = small_model("Llama");
  const int blocks = static_cast<int>(model.config.layers) + 2;
  const Plan plan = make_plan({.mesh = {{"pp", blocks}}, .schedule = "zb_h1"},
                              {.kv_heads = model.config.kv_heads, .heads = model.config.heads});
  const Compiled split =
      compile(model.build(DType::Fp32, 2, HeadKind::Loss), {.plan = plan, .microbatches = blocks});
  const std::vector<std::string> first = calls(split.programs.front(), "train_step");
  EXPECT_EQ(std::count(first.begin(), first.end(), "weight_grad embedding 0"), 1);
}

Compiled pipeline_of_replicas(int zero, const std::string& schedule) {
  SmallModel model = small_model("Llama");
  model.config.layers = 6;
  const Plan plan = make_plan({.mesh = {{"pp", 2}, {"dp", 2}}, .zero = zero, .schedule = schedule},
                              {.kv_heads = model.config.kv_heads, .heads = model.config.heads});
  return compile(model.build(DType::Fp32, 2, HeadKind::Loss), {.plan = plan, .microbatches = 4});
}

TEST(Scripts, APipelineWaitsForItsSumsWhenItsLastGradientIsSent) {
  for (const int zero : {0, 1})
    for (const char* schedule : {"1f1b", "gpipe", "zb_h1"})
      for (const Program& program : pipeline_of_replicas(zero, schedule).programs) {
        const std::vector<ScriptCall>& script = program.script("train_step").calls;
        const auto is = [](RoutineKind routine) {
          return [=](const ScriptCall& call) { return call.routine == routine; };
        };
        const auto wait = std::find_if(script.begin(), script.end(), is(RoutineKind::ReduceWait));
        ASSERT_NE(wait, script.end());
        EXPECT_TRUE(std::none_of(wait, script.end(),
                                 [](const ScriptCall& call) {
                                   return call.routine == RoutineKind::GradientOut ||
                                          side(call.routine) == StepSide::Backward;
                                 }))
            << schedule << ", zero " << zero;
      }
}

// Stages of one block, two on each rank: B B of one, then B B of the other.
TEST(Scripts, AStagesOnlyBlockAddsUpUntilAnotherStagesTurn) {
  SmallModel model = small_model("Llama");
  model.config.layers = 2;
  const Plan plan = make_plan({.mesh = {{"pp", 2}, {"dp", 2}},
                               .zero = 2,
                               .schedule = "interleaved_1f1b",
                               .chunks = 2,
                               .blocks_per_stage = {1, 1, 1, 1}},
                              {.kv_heads = model.config.kv_heads, .heads = model.config.heads});
  const Compiled compiled =
      compile(model.build(DType::Fp32, 2, HeadKind::Loss), {.plan = plan, .microbatches = 4});
  for (const Program& program : compiled.programs) {
    const std::vector<ScriptCall>& script = program.script("train_step").calls;
    const auto count = [&](RoutineKind routine) {
      return std::count_if(script.begin(), script.end(),
                           [=](const ScriptCall& call) { return call.routine == routine; });
    };
    EXPECT_EQ(count(RoutineKind::Backward), 8);
    EXPECT_EQ(count(RoutineKind::Reduce), 4);
  }
}

// With zero 2 in every microbatch.
TEST(Scripts, NothingIsWaitedForBetweenABackwardAndItsMessage) {
  for (const int zero : {1, 2, 3})
    for (const Program& program : pipeline_of_replicas(zero, "1f1b").programs) {
      const std::vector<ScriptCall>& script = program.script("train_step").calls;
      for (size_t i = 0; i < script.size(); ++i)
        if (script[i].routine == RoutineKind::GradientOut) {
          size_t before = i - 1;
          while (script[before].routine == RoutineKind::Reduce) --before;
          EXPECT_EQ(script[before].routine, RoutineKind::Backward) << zero << ", call " << i;
        }
    }
}

TEST(Scripts, TheFirstMicrobatchWritesAGradientAndLaterOnesAdd) {
  EXPECT_EQ(
      writes(compiled("Mlp", 3), "train_step", "layer.1.w"),
      (Lines{"backward layer.1 0: write", "backward layer.1 1: add", "backward layer.1 2: add"}));
}

TEST(Scripts, AStepBeginsItsGradientsAnew) {
  EXPECT_EQ(writes(compiled("Mlp", 1), "train_step", "layer.1.w"),
            (Lines{"backward layer.1 0: write"}));
}

TEST(Scripts, TheHeadWritesATiedTablesGradientAndTheEmbeddingAdds) {
  EXPECT_EQ(writes(compiled("Gpt", 2), "train_step", "embedding.table"),
            (Lines{"backward head 0: write", "backward embedding 0: add", "backward head 1: add",
                   "backward embedding 1: add"}));
}

TEST(Scripts, TheNormAddsUpOverBlocks) {
  const Lines norm = writes(compiled("Mlp", 2), "train_step", "norm_squares");
  EXPECT_EQ(norm, (Lines{"norm layer.0 1: write", "norm layer.1 1: add", "norm layer.2 1: add"}));
}

TEST(Scripts, LabelsAreCountedOverAllMicrobatchesBeforeTheFirstForward) {
  EXPECT_EQ(writes(compiled("Llama", 3), "train_step", "label_count"),
            (Lines{"begin head 0: write", "begin head 1: add", "begin head 2: add"}));
}

TEST(Scripts, TheLossOfEachScriptIsASumOfItsOwn) {
  const Program program = compiled("Llama", 2);
  EXPECT_EQ(writes(program, "train_step", "loss"),
            (Lines{"backward head 0: write", "backward head 1: add"}));
  EXPECT_EQ(writes(program, "evaluate", "loss"),
            (Lines{"evaluate head 0: write", "evaluate head 1: add"}));
}

TEST(Scripts, FirstAndLastMicrobatchAreMarked) {
  const Program program = compiled("Mlp", 3);
  for (const ScriptCall& call : program.script("train_step").calls) {
    EXPECT_EQ(call.first, call.microbatch == 0);
    EXPECT_EQ(call.last, call.microbatch == 2);
    const bool once = call.routine == RoutineKind::Norm || call.routine == RoutineKind::Update;
    EXPECT_TRUE(call.last || !once);
  }
}

Program in_fp8(int microbatches, int zero, bool at_use) {
  Plan plan = make_plan({.mesh = {{"dp", 2}}, .zero = zero}, {});
  plan.fp8 = {.at_use = at_use};
  return compile(small_model("Llama").build(DType::Bf16, 4),
                 {.plan = plan, .microbatches = microbatches})
      .program();
}

int count_of(const Program& program, std::string_view script, RoutineKind routine, OpKind op) {
  int count = 0;
  for (const ScriptCall& call : program.script(script).calls)
    if (call.routine == routine)
      for (const Instruction& instruction :
           program.class_of(program.blocks[static_cast<size_t>(call.block)]).routine(routine)) {
        const auto* kernel = instruction.as<KernelInstruction>();
        count += kernel && kernel->op == op;
      }
  return count;
}

TEST(Scripts, WeightsAreQuantisedOnceForAllMicrobatches) {
  constexpr int kWeights = 6;  // q, k, v, o, gate and up, down
  const auto prepared = [](const Program& program, std::string_view script) {
    return count_of(program, script, RoutineKind::Prepare, OpKind::quantize);
  };
  const Program one = in_fp8(1, 0, false), two = in_fp8(2, 0, false);
  const auto layers = static_cast<int>(small_model("Llama").config.layers);
  for (const char* script : {"train_step", "evaluate"}) {
    EXPECT_EQ(prepared(one, script), kWeights * layers) << script;
    EXPECT_EQ(prepared(two, script), kWeights * layers) << script;
  }
  EXPECT_EQ(count_of(two, "train_step", RoutineKind::Forward, OpKind::quantize),
            2 * count_of(one, "train_step", RoutineKind::Forward, OpKind::quantize));
}

TEST(Scripts, WeightsThatAreGatheredAreQuantisedInForwardAndBackward) {
  const auto quantized = [](const Program& program, RoutineKind routine) {
    return count_of(program, "train_step", routine, OpKind::quantize);
  };
  const Program rest = in_fp8(1, 0, false);
  for (const Program& program : {in_fp8(1, 3, false), in_fp8(1, 0, true)}) {
    EXPECT_EQ(quantized(program, RoutineKind::Prepare), 0);
    for (const RoutineKind routine : {RoutineKind::Forward, RoutineKind::Backward})
      EXPECT_EQ(quantized(program, routine),
                quantized(rest, routine) + quantized(rest, RoutineKind::Prepare));
  }
}

}  // namespace
}  // namespace tessera
