// SPDX-License-Identifier: Apache-2.0
// Every slice leads to one line of the IR, boxes of all ranks tile each tensor, and the fullest
// moment is the peak that was planned.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "config/compile_step.h"
#include "studio/asked_run.h"
#include "studio/held_parts.h"
#include "studio/ir_lines.h"
#include "studio/simulated_step.h"
#include "studio/step_memory.h"
#include "studio/testing/sample_runs.h"

namespace tessera {
namespace {

class SampleRun : public testing::TestWithParam<size_t> {
 protected:
  std::string run() { return sample_runs()[GetParam()]; }
  Json ask_json(std::string_view kind, const std::string& fields = "") {
    return ask(kind, asking(run(), fields)).json;
  }
  Compiled compile_run() {
    const AskedRun asked = asked_run(asking(run()));
    return compile(spec_to_simulate(asked.cluster, asked.config), {.check = false});
  }
};

template <typename T>
std::vector<T> column(const Answer& answer, std::string_view name) {
  for (const Json& each : answer.json.find("columns")->items()) {
    if (*each.find("name")->text() != name) continue;
    std::vector<T> values(static_cast<size_t>(*each.find("count")->integer()));
    std::memcpy(values.data(), answer.columns.data() + *each.find("offset")->integer(),
                values.size() * sizeof(T));
    return values;
  }
  return {};
}

TEST_P(SampleRun, EverySliceLeadsToTheOneLineThatMakesItsValue) {
  const Answer slices = ask("slices", asking(run()));
  const Json ir = ask_json("ir");
  const auto lines = ir.find("ir")->items()[0].find("lines")->items();
  const auto instructions = slices.json.find("instructions")->items();
  EXPECT_EQ(*slices.json.find("lines")->integer(), static_cast<int64_t>(lines.size()));
  for (const Json& each : instructions) {
    const Json& line = lines[static_cast<size_t>(*each.find("line")->integer())];
    EXPECT_EQ(*line.find("class")->text(), *each.find("class")->text());
    bool named = false;
    for (const Json& name : line.find("names")->items())
      named = named || *name.text() == *each.find("name")->text();
    EXPECT_TRUE(named) << each.dump() << " is not made by " << line.dump();
    const std::string& kind = *line.find("kind")->text();
    const bool between_stages = each.find("routine")->text()->starts_with("stream_") ||
                                each.find("routine")->text()->starts_with("gradient_");
    EXPECT_EQ(kind == "node", !between_stages) << each.dump();
    EXPECT_TRUE(line.find("source") && line.find("source")->text()->starts_with("src/models/"))
        << each.dump() << " comes from no line of a model: " << line.dump();
    const std::string op = " = " + *each.find("op")->text() + "(";
    if (kind == "node" && *each.find("op")->text() != "all_gather" &&
        *each.find("op")->text() != "clear") {
      EXPECT_NE(line.find("text")->text()->find(op), std::string::npos) << each.dump();
    }
  }
  const auto numbers = column<uint16_t>(slices, "instruction");
  EXPECT_FALSE(numbers.empty());
  for (const uint16_t number : numbers) ASSERT_LT(number, instructions.size());
}

// With the pass that made it; `program` says the same of its instructions.
TEST_P(SampleRun, EveryNodeComesFromALineOfAModel) {
  const Json ir = ask_json("ir"), program = ask_json("program");
  const auto lines = ir.find("ir")->items()[0].find("lines")->items();
  std::set<std::string> passes;
  for (const Json& pass : ir.find("passes")->items()) passes.insert(*pass.find("name")->text());
  for (const Json& line : lines) {
    if (*line.find("kind")->text() != "node") continue;
    ASSERT_TRUE(line.find("source")) << line.dump();
    EXPECT_TRUE(line.find("source")->text()->starts_with("src/models/")) << line.dump();
    EXPECT_TRUE(passes.contains(*line.find("made_by")->text())) << line.dump();
  }
  for (const Json& block_class : program.find("classes")->items())
    for (const Json& routine : block_class.find("routines")->items())
      for (const Json& instruction : routine.find("instructions")->items()) {
        const Json& line = lines[static_cast<size_t>(*instruction.find("line")->integer())];
        EXPECT_EQ(*instruction.find("source")->text(), *line.find("source")->text());
      }
}

TEST_P(SampleRun, EveryWaitNamesTheTransferThatItEnds) {
  const Json slices = ask("slices", asking(run())).json;
  const auto instructions = slices.find("instructions")->items();
  for (const Json& each : instructions) {
    if (*each.find("op")->text() != "wait") continue;
    ASSERT_TRUE(each.find("awaits")) << each.dump();
    const Json& started = instructions[static_cast<size_t>(*each.find("awaits")->integer())];
    EXPECT_EQ(*started.find("kind")->text(), "transfer") << each.dump() << started.dump();
    EXPECT_EQ(*started.find("class")->text(), *each.find("class")->text());
    const std::string wait = *each.find("name")->text(), name = *started.find("name")->text();
    EXPECT_EQ(wait.substr(0, wait.find('.')), name.substr(0, name.find('.')));
  }
}

TEST_P(SampleRun, SlicesEndWithTheStepAndKernelsDoNotOverlap) {
  const Answer slices = ask("slices", asking(run()));
  const auto begin = column<float>(slices, "begin"), length = column<float>(slices, "length");
  const auto lane = column<uint16_t>(slices, "lane");
  const auto step = static_cast<float>(*slices.json.find("step_seconds")->number());
  std::map<uint16_t, float> until;
  for (size_t i = 0; i < begin.size(); ++i) {
    EXPECT_LE(begin[i] + length[i], step * 1.00001F);
    EXPECT_GE(begin[i], until[lane[i]] - 1e-5F * step);
    until[lane[i]] = begin[i] + length[i];
  }
}

TEST_P(SampleRun, TheFullestMomentIsThePlannedPeak) {
  for (const Program& program : compile_run().programs) {
    const StepMemory memory(program);
    EXPECT_EQ(memory.bytes_at(memory.fullest_call()), program.peak_bytes());
    for (size_t i = 0; i < memory.kept_bytes().size(); ++i)
      ASSERT_LE(memory.kept_bytes()[i], memory.filled_bytes()[i]);
  }
}

// What a call reads and writes of the slot arena, by its own addresses.
TEST_P(SampleRun, WhatACallTouchesIsAliveAndAliveThingsDoNotOverlap) {
  const Compiled compiled = compile_run();
  const Program& program = compiled.programs.front();
  const StepMemory memory(program);
  const std::vector<ScriptCall>& calls = program.script("train_step").calls;
  for (size_t i = 0; i < calls.size(); i += 1 + calls.size() / 200) {
    const ProgramBlock& block = program.blocks[static_cast<size_t>(calls[i].block)];
    const ProgramClass& program_class = program.class_of(block);
    const std::vector<KeptActivations> alive = memory.alive_at(i);
    for (size_t a = 0; a < alive.size(); ++a)
      for (size_t b = 0; b < a; ++b)
        ASSERT_TRUE(alive[a].offset + alive[a].bytes <= alive[b].offset ||
                    alive[b].offset + alive[b].bytes <= alive[a].offset);
    for (const Instruction& instruction : program_class.routine(calls[i].routine))
      for (const std::span<const int> buffers : {reads(instruction), writes(instruction)})
        for (const int buffer : buffers) {
          const Buffer& touched = program_class.buffers[static_cast<size_t>(buffer)];
          if (touched.lifetime != Lifetime::Slot || touched.space != MemorySpace::Device) continue;
          const int64_t begin = program.offset_of(calls[i], buffer);
          EXPECT_TRUE(std::ranges::any_of(alive,
                                          [&](const KeptActivations& kept) {
                                            return kept.offset <= begin &&
                                                   begin + touched.type.bytes() <=
                                                       kept.offset + kept.bytes;
                                          }))
              << program_class.name << "." << touched.name;
        }
  }
}

TEST_P(SampleRun, MemoryByKindAddsUpAtThePeak) {
  const Json answer = ask_json("memory_at");
  int64_t sum = 0;
  for (const JsonMember& kind : answer.find("bytes")->members()) sum += *kind.value.integer();
  EXPECT_EQ(sum, *answer.find("peak_bytes")->integer());
  EXPECT_EQ(sum, *ask_json("try").find("peak_bytes")->integer());
  const Json early = ask_json("memory_at", R"("time":0)");
  EXPECT_LE(*early.find("all_bytes")->integer(), sum);
}

// All, but of thousands of ranks a few.
std::vector<StateBuffer> some_states(const Compiled& compiled) {
  std::vector<StateBuffer> states = view_of(compiled.programs).states;
  if (compiled.programs.front().mesh.num_ranks() > 1024) states.resize(12);
  return states;
}

int64_t volume(const HeldBox& box) {
  int64_t elements = 1;
  for (const int64_t count : box.count) elements *= count;
  return elements;
}

bool overlap(const HeldBox& a, const HeldBox& b) {
  for (size_t i = 0; i < a.first.size(); ++i)
    if (a.first[i] + a.count[i] <= b.first[i] || b.first[i] + b.count[i] <= a.first[i])
      return false;
  return true;
}

TEST_P(SampleRun, BoxesInUseTileEachTensorAsOftenAsThereAreCopies) {
  const Compiled compiled = compile_run();
  for (const StateBuffer& state : some_states(compiled)) {
    const HeldBoxes held = boxes_in_use(compiled.programs, state);
    int64_t covered = 0;
    for (size_t i = 0; i < held.boxes.size(); ++i) {
      covered += volume(held.boxes[i]);
      for (size_t j = 0; j < i && volume(held.boxes[i]) > 0; ++j)
        EXPECT_FALSE(volume(held.boxes[j]) > 0 && overlap(held.boxes[i], held.boxes[j]))
            << state.name;
    }
    EXPECT_EQ(covered, state.type.num_elements()) << state.name;
    std::map<int, int> copies;
    for (const int box : held.of_rank)
      if (box != kHoldsNothing) ++copies[box];
    for (const auto& [box, count] : copies) EXPECT_EQ(count, copies.begin()->second) << state.name;
  }
}

TEST_P(SampleRun, StretchesAtRestCoverEachBoxEvenly) {
  const Compiled compiled = compile_run();
  const Mesh& mesh = compiled.programs.front().mesh;
  for (const StateBuffer& state : some_states(compiled)) {
    const HeldBoxes boxes = boxes_in_use(compiled.programs, state);
    const HeldStretches held = stretches_at_rest(compiled.programs, state, boxes, false);
    std::map<int, int64_t> covered;
    for (const HeldStretch& stretch : held.stretches)
      covered[stretch.box] += stretch.end - stretch.begin;
    int64_t part = 1;
    for (const Dim& dim : local_dims(mesh, state.type.dims, state.placement)) part *= dim.size;
    for (const auto& [box, elements] : covered) EXPECT_EQ(elements, part) << state.name;
    EXPECT_EQ(covered.size(), boxes.boxes.size()) << state.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Studio, SampleRun, testing::Range(size_t{0}, sample_runs().size()));

}  // namespace
}  // namespace tessera
