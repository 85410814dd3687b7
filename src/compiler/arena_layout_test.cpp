// SPDX-License-Identifier: Apache-2.0
#include "compiler/arena_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/compile.h"
#include "exec/testing/small_models.h"
#include "ir/builder.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

struct LayoutCase {
  SmallModel model;
  DType compute;
  int microbatches;
};

std::vector<LayoutCase> layout_cases() {
  std::vector<LayoutCase> cases;
  for (const SmallModel& model : small_models())
    for (const DType compute : {DType::Fp32, DType::Bf16})
      for (const int microbatches : {1, 3}) cases.push_back({model, compute, microbatches});
  return cases;
}

class Layout : public testing::TestWithParam<LayoutCase> {
 protected:
  const Program program_ = compile(GetParam().model.build(GetParam().compute, 2),
                                   {.optimizer = {.ema_decay = 0.99},
                                    .profile = {.threads = 2},
                                    .microbatches = GetParam().microbatches})
                               .program();

  int64_t arena_bytes(Lifetime lifetime) const {
    switch (lifetime) {
      case Lifetime::Persistent:
        return program_.persistent_bytes;
      case Lifetime::Window:
        return program_.window_bytes;
      case Lifetime::Slot:
        return program_.slot_bytes;
      case Lifetime::Scratch:
        return program_.scratch_bytes;
      case Lifetime::Prepared:
      case Lifetime::Away:
      case Lifetime::None:
        break;
    }
    return -1;
  }

  int64_t stride(Repeat repeat) const {
    return repeat == Repeat::PerMicrobatch ? program_.batch_input_stride : 0;
  }
};

TEST_P(Layout, BytesByKindAddUpToThePeak) {
  const auto& kinds = program_.bytes_by_kind;
  EXPECT_EQ(std::accumulate(kinds.begin(), kinds.end(), int64_t{0}), program_.peak_bytes());
  for (const int64_t bytes : kinds) EXPECT_GT(bytes, 0);
}

TEST_P(Layout, EveryBufferThatAnInstructionUsesIsBoundInsideItsArena) {
  for (const ProgramBlock& block : program_.blocks) {
    const ProgramClass& program_class = program_.class_of(block);
    ASSERT_EQ(block.offsets.size(), program_class.buffers.size());
    for (const auto& routine : program_class.routines)
      for (const Instruction& instruction : routine) {
        const std::span<const int> read = reads(instruction), written = writes(instruction);
        std::vector<int> used(read.begin(), read.end());
        used.insert(used.end(), written.begin(), written.end());
        for (const int id : used) {
          const Buffer& buffer = program_class.buffers[static_cast<size_t>(id)];
          const int64_t offset = block.offsets[static_cast<size_t>(id)];
          EXPECT_GE(offset, 0) << block.name << " " << buffer.name;
          EXPECT_EQ(offset % kBufferAlignment, 0) << block.name << " " << buffer.name;
          const Repeat repeat = block.repeats[static_cast<size_t>(id)];
          EXPECT_LE(offset + (program_.microbatches - 1) * stride(repeat) + buffer.type.bytes(),
                    arena_bytes(buffer.lifetime))
              << block.name << " " << buffer.name;
        }
      }
  }
}

// Offset and bytes, of everything that has a place of its own for the whole step.
using Places = std::vector<std::pair<int64_t, int64_t>>;

void expect_apart(Places places) {
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i)
    EXPECT_GE(places[i].first, places[i - 1].first + places[i - 1].second) << "at " << i;
}

TEST_P(Layout, StatesLieApartAndFillTheArena) {
  Places places;
  int64_t bytes = 0;
  for (const StateBuffer& state : program_.states) {
    places.emplace_back(state.place.offset + state.place.begin * size_bytes(state.type.dtype),
                        state.type.bytes());
    bytes += state.type.bytes();
  }
  expect_apart(places);
  EXPECT_LE(bytes, program_.persistent_bytes);
  // Each begins at a multiple of kFlatAlignment elements.
  const auto states = static_cast<int64_t>(program_.states.size());
  EXPECT_LE(program_.persistent_bytes - bytes, states * kFlatAlignment * 4);
}

TEST_P(Layout, InputsStepValuesAndGradientsLieApartInTheWindow) {
  Places places;
  for (const HostBuffer& value : program_.step_values)
    places.emplace_back(value.offset, value.type.bytes());
  for (const HostBuffer& input : program_.batch_inputs)
    for (int microbatch = 0; microbatch < program_.microbatches; ++microbatch)
      places.emplace_back(input.offset + microbatch * program_.batch_input_stride,
                          input.type.bytes());
  for (const HostBuffer& load : program_.loads) places.emplace_back(load.offset, load.type.bytes());
  for (const StateBuffer& state : program_.states)
    if (state.has_gradient())
      places.emplace_back(
          state.gradient.offset + state.gradient.begin * size_bytes(state.gradient_type.dtype),
          state.gradient_type.bytes());
  std::map<int64_t, int64_t> stream_gradients;
  for (const ProgramBlock& block : program_.blocks)
    for (size_t i = 0; i < block.offsets.size(); ++i) {
      const Buffer& buffer = program_.class_of(block).buffers[i];
      const bool known = std::any_of(places.begin(), places.end(), [&](const auto& place) {
        return place.first == block.offsets[i];
      });
      if (buffer.lifetime == Lifetime::Window && !known)
        stream_gradients[block.offsets[i]] =
            std::max(stream_gradients[block.offsets[i]], buffer.type.bytes());
    }
  EXPECT_EQ(stream_gradients.size(), 2u);
  places.insert(places.end(), stream_gradients.begin(), stream_gradients.end());
  expect_apart(places);
}

TEST_P(Layout, EveryParameterHasItsOwnGradientAndOptimizerState) {
  std::map<StateRole, int> roles;
  for (const StateBuffer& state : program_.states) {
    ++roles[state.spec.role];
    if (state.spec.role == StateRole::Parameter) {
      ASSERT_TRUE(state.has_gradient()) << state.name;
      EXPECT_EQ(state.gradient_type, with_dtype(state.type, DType::Fp32));
    } else {
      ASSERT_NE(program_.find_state(state.spec.parameter), nullptr) << state.spec.parameter;
      EXPECT_EQ(state.name, fmt::format("{}.{}", state.spec.parameter, role_name(state.spec)));
    }
  }
  const int parameters = roles[StateRole::Parameter];
  EXPECT_EQ(roles[StateRole::Slot], 2 * parameters);
  EXPECT_EQ(roles[StateRole::Average], parameters);
  EXPECT_EQ(roles[StateRole::Master], GetParam().compute == DType::Bf16 ? parameters : 0);
}

TEST(PureLayout, KeepsNothingWiderThanTheWeights) {
  for (const SmallModel& model : small_models()) {
    const Compiled compiled = compile(model.build({DType::Bf16, true}, 2), {.microbatches = 2});
    for (const StateBuffer& state : compiled.programs.front().states) {
      if (state.spec.balance_rate > 0) continue;  // as wide as the logits that it is added to
      EXPECT_EQ(state.type.dtype, DType::Bf16) << state.name;
      EXPECT_NE(state.spec.role, StateRole::Master) << state.name;
      if (state.spec.role == StateRole::Parameter) {
        EXPECT_EQ(state.gradient_type, state.type) << state.name;
      }
    }
  }
}

TEST_P(Layout, ABlockReadsTheStreamWhereTheBlockBeforeLeftIt) {
  for (size_t i = 1; i < program_.blocks.size(); ++i) {
    const ProgramBlock &block = program_.blocks[i], &before = program_.blocks[i - 1];
    const auto& buffers = program_.class_of(block).buffers;
    const auto stream = std::find_if(buffers.begin(), buffers.end(), [](const Buffer& buffer) {
      return buffer.name == "x" || buffer.name == "prediction";
    });
    const int64_t offset = block.offsets[static_cast<size_t>(stream - buffers.begin())];
    EXPECT_TRUE(std::count(before.offsets.begin(), before.offsets.end(), offset)) << block.name;
    EXPECT_EQ(stream->lifetime, Lifetime::Slot);
    EXPECT_EQ(block.repeats[static_cast<size_t>(stream - buffers.begin())], Repeat::PerSlot);
  }
}

std::string case_name(const testing::TestParamInfo<LayoutCase>& info) {
  return fmt::format("{}{}Microbatches{}", info.param.model.name, name(info.param.compute),
                     info.param.microbatches);
}

INSTANTIATE_TEST_SUITE_P(ArenaLayout, Layout, testing::ValuesIn(layout_cases()), case_name);

TEST(ArenaLayout, OnlyBatchInputsGrowWithMicrobatches) {
  const auto compiled = [](int microbatches) {
    return compile(small_model("Llama").build(DType::Fp32, 2), {.microbatches = microbatches})
        .program();
  };
  const Program one = compiled(1), four = compiled(4);
  EXPECT_EQ(four.slot_bytes, one.slot_bytes);
  EXPECT_EQ(four.batch_input_stride, one.batch_input_stride);
  EXPECT_EQ(four.peak_bytes() - one.peak_bytes(), 3 * one.batch_input_stride);
  // tokens, labels, positions and document: 2 x 9 int32, each in two lines of 64 bytes.
  EXPECT_EQ(one.batch_input_stride, 4 * 128);
}

// The second of three stages, with this many blocks; gpipe keeps all microbatches.
Program middle_stage(int blocks, RecomputeKind recompute, int microbatches) {
  SmallModel model = small_model("Gpt");
  model.config.layers = blocks + 2;
  return compile(model.build(DType::Fp32, 1),
                 {.plan = make_plan({.mesh = {{"pp", 3}},
                                     .schedule = "gpipe",
                                     .recompute = {.kind = recompute, .every = 1},
                                     .blocks_per_stage = {2, blocks, 2}},
                                    {}),
                  .microbatches = microbatches})
      .programs.at(1);
}

int64_t kept_per_microbatch(int blocks, RecomputeKind recompute) {
  return (middle_stage(blocks, recompute, 12).slot_bytes -
          middle_stage(blocks, recompute, 6).slot_bytes) /
         6;
}

int64_t stream_bytes(const Program& program) {
  const ProgramBlock& block = program.blocks.front();
  const auto stream = std::find(block.repeats.begin(), block.repeats.end(), Repeat::StreamIn);
  const auto buffer = static_cast<size_t>(stream - block.repeats.begin());
  return align_up(program.class_of(block).buffers.at(buffer).type.bytes());
}

TEST(ArenaLayout, AStageThatIsRebuiltKeepsTheStreamsThatEnterItsBlocksAlone) {
  const int64_t stream = stream_bytes(middle_stage(1, RecomputeKind::Blocks, 6));
  for (const int blocks : {1, 2, 3})
    EXPECT_EQ(kept_per_microbatch(blocks, RecomputeKind::Blocks), blocks * stream) << blocks;
}

TEST(ArenaLayout, ABlockThatIsRebuiltHasNoSecondPlaceForTheStreamThatItReturns) {
  SmallModel model = small_model("Gpt");
  model.config.layers = 4;
  const Recompute recompute{.kind = RecomputeKind::Blocks, .every = 1};
  const Compiled compiled =
      compile(model.build(DType::Fp32, 1),
              {.plan = make_plan({.mesh = {}, .recompute = recompute}, {}), .microbatches = 3});
  int64_t streams = 0, most_kept = 0;
  for (const Block& block : compiled.module.blocks) {
    const BlockClass& block_class = compiled.module.class_of(block);
    const Graph& graph = block_class.graph;
    const GraphOutput* stream = graph.find_output(OutputKind::Stream);
    const int64_t returned = stream ? align_up(graph.value(stream->value).type.bytes()) : 0;
    streams += returned;
    most_kept = std::max(most_kept, block_class.slot_bytes - returned);
  }
  EXPECT_EQ(compiled.program().slot_bytes, streams + most_kept);
}

TEST(ArenaLayout, AStageKeepsNoStreamThatOnlyTheNextOneReads) {
  const int64_t stream = stream_bytes(middle_stage(1, RecomputeKind::None, 6)),
                block = kept_per_microbatch(2, RecomputeKind::None) -
                        kept_per_microbatch(1, RecomputeKind::None);
  // Between two blocks the stream is kept by the one that returns it.
  EXPECT_EQ(kept_per_microbatch(1, RecomputeKind::None), block);
  EXPECT_GT(block, 2 * stream);
}

TEST(ArenaLayout, ATiedTableIsOneState) {
  const auto compiled = [](bool tied) {
    SmallModel model = small_model("Gpt");
    model.config.tied = tied;
    return compile(model.build(DType::Fp32, 2), {}).program();
  };
  const Program tied = compiled(true), untied = compiled(false);
  EXPECT_EQ(tied.find_state("head.table"), nullptr);
  const StateBuffer* table = untied.find_state("head.table");
  ASSERT_NE(table, nullptr);
  // Weights and two moments.
  const int64_t bytes = untied.persistent_bytes - tied.persistent_bytes;
  EXPECT_GE(bytes, 3 * table->type.bytes());
  EXPECT_LE(bytes, 3 * (table->type.bytes() + kFlatAlignment * 4));
}

TEST(ArenaLayout, AForwardProgramHasNoGradientsAndNoOptimizerState) {
  const Program program =
      compile(small_model("Gpt").build(DType::Fp32, 2, HeadKind::Logits), {.training = false})
          .program();
  EXPECT_EQ(program.bytes(BufferKind::Gradient), 0);
  EXPECT_EQ(program.bytes(BufferKind::Optimizer), 0);
  EXPECT_EQ(to_string(program.output.type), "fp32[batch=2, vocab=29]");
}

TEST(ArenaLayout, OneNameIsOneBatchInputOfOneType) {
  ModuleBuilder module("m", DType::Fp32);
  BlockBuilder& first = module.block_class("first");
  first.returns(first.emit(OpKind::relu, {first.batch("x", {{"d", 4}}, DType::Fp32)}).front());
  BlockBuilder& second = module.block_class("second");
  Tensor stream = second.stream("stream", {{"d", 4}});
  second.emit(OpKind::relu, {second.batch("x", {{"d", 8}}, DType::Fp32)});
  second.returns(second.emit(OpKind::relu, {stream}).front());
  module.block("first", "first");
  module.block("second", "second");
  try {
    compile(module.build(), {.training = false});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "two blocks read x as fp32[d=4] and as fp32[d=8]");
  }
}

}  // namespace
}  // namespace tessera
