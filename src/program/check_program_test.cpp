// SPDX-License-Identifier: Apache-2.0
#include "program/check_program.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "exec/testing/small_models.h"
#include "ir/op_list.h"
#include "program/collective_table.h"

namespace tessera {
namespace {

Program compiled(std::vector<Axis> mesh, int zero = 0) {
  return compile(small_model("Llama").build(DType::Fp64, 4),
                 {.plan = make_plan({.mesh = std::move(mesh), .zero = zero}, {.kv_heads = 2})})
      .program();
}

std::vector<Instruction>& routine(Program& program, std::string_view class_name, RoutineKind kind) {
  for (ProgramClass& program_class : program.classes)
    if (program_class.name == class_name) return program_class.routine(kind);
  check_failed("class", __FILE__, __LINE__, std::string(class_name));
}

// The first of a kind.
template <typename Kind>
size_t position_of(const std::vector<Instruction>& instructions) {
  for (size_t i = 0; i < instructions.size(); ++i)
    if (instructions[i].as<Kind>()) return i;
  check_failed("kind", __FILE__, __LINE__, "");
}

// What is said of two ranks, the second of which runs a changed program.
std::string refusal(const Program& program, const std::function<void(Program&)>& change) {
  Program changed = program;
  change(changed);
  const std::vector<const Program*> programs{&program, &changed};
  try {
    check_collectives(programs);
  } catch (const ProgramError& error) {
    return error.what();
  }
  return "accepted";
}

void expect_says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

TEST(CheckProgram, RanksThatAgreeAreAccepted) {
  for (const int zero : {0, 1, 2, 3}) {
    const Program program = compiled({{"dp", 2}}, zero);
    EXPECT_NO_THROW(check_memory(program));
    EXPECT_EQ(refusal(program, [](Program&) {}), "accepted") << zero;
  }
}

TEST(CheckProgram, SwappedCollectivesAreNamedWithBothRanks) {
  const Program program = compiled({{"tp", 2}});
  const std::string text = refusal(program, [](Program& changed) {
    std::vector<ScriptCall>& calls = changed.scripts.front().calls;
    const auto is_report = [](const ScriptCall& call) {
      return call.routine == RoutineKind::Forward;
    };
    const auto first = std::find_if(calls.begin(), calls.end(), is_report);
    const auto later = std::find_if(first + 1, calls.end(), [](const ScriptCall& call) {
      return call.routine == RoutineKind::Backward;
    });
    std::iter_swap(first, later);
  });
  expect_says(text, {"differs", "on rank 1", "group of ranks 0,1"});
}

TEST(CheckProgram, ACollectiveOfAnotherReductionIsNamed) {
  const Program program = compiled({{"tp", 2}});
  const std::string text = refusal(program, [](Program& changed) {
    std::vector<Instruction>& forward = routine(changed, "layer", RoutineKind::Forward);
    forward[position_of<CollectiveInstruction>(forward)].as<CollectiveInstruction>()->reduction =
        Reduction::Max;
  });
  expect_says(text, {"all_reduce", "reduction=sum", "reduction=max", "forward of block layer.0"});
}

TEST(CheckProgram, ACollectiveThatOneRankLeavesOutIsNamed) {
  const Program program = compiled({{"dp", 2}});
  const std::string text = refusal(program, [](Program& changed) {
    std::vector<ScriptCall>& calls = changed.scripts.front().calls;
    std::erase_if(calls, [](const ScriptCall& call) {
      return call.routine == RoutineKind::NormReduce || call.routine == RoutineKind::MetricReduce;
    });
  });
  expect_says(text, {"rank 1 never starts collective"});
}

TEST(CheckProgram, ACycleAcrossGroupsIsADeadlock) {
  // Every group agrees on its own order; but 0 waits for 1, 1 for 3, 3 for 2 and 2 for 0.
  const Program program = compiled({{"dp", 2}, {"tp", 2}});
  const auto with_tp_sum = [&](bool first) {
    Program changed = program;
    std::vector<Instruction>& count = routine(changed, "totals", RoutineKind::CountReduce);
    Instruction sum = count.front();
    changed.groups.push_back(make_group(changed.mesh, {changed.mesh.find("tp")}));
    sum.as<CollectiveInstruction>()->group = static_cast<GroupId>(changed.groups.size()) - 1;
    count.insert(first ? count.begin() : count.end(), sum);
    return changed;
  };
  const Program tp_first = with_tp_sum(true), dp_first = with_tp_sum(false);
  const std::vector<const Program*> agreed{&tp_first, &tp_first, &tp_first, &tp_first};
  EXPECT_NO_THROW(check_collectives(agreed));
  const std::vector<const Program*> cycle{&tp_first, &dp_first, &dp_first, &tp_first};
  try {
    check_collectives(cycle);
    FAIL() << "accepted";
  } catch (const ProgramError& error) {
    expect_says(error.what(), {"deadlock", "rank 0 waits for ever", "group of ranks 0,1"});
  }
}

TEST(CheckProgram, AReadBeforeTheWriteIsNamed) {
  Program program = compiled({{"dp", 2}});
  std::vector<ScriptCall>& calls = program.scripts.front().calls;
  const auto first = std::find_if(calls.begin(), calls.end(), [](const ScriptCall& call) {
    return call.routine == RoutineKind::Forward;
  });
  std::iter_swap(first, first + 1);
  try {
    check_memory(program);
    FAIL() << "accepted";
  } catch (const ProgramError& error) {
    expect_says(error.what(), {"reads", "before it is written", "script train_step"});
  }
}

TEST(CheckProgram, AWaitLeftOutIsNamed) {
  Program program = compiled({{"tp", 2}});
  std::vector<Instruction>& backward = routine(program, "layer", RoutineKind::Backward);
  const size_t at = position_of<WaitInstruction>(backward);
  const int waited = backward[at].as<WaitInstruction>()->output;
  backward.erase(backward.begin() + static_cast<std::ptrdiff_t>(at));
  try {
    check_memory(program);
    FAIL() << "accepted";
  } catch (const ProgramError& error) {
    EXPECT_TRUE(std::string(error.what()).find("in flight") != std::string::npos ||
                std::string(error.what()).find("before it is written") != std::string::npos)
        << waited << ": " << error.what();
  }
}

TEST(CollectiveTable, GathersAndReductionsHideBehindKernels) {
  const Program program = compiled({{"fsdp", 2}}, 3);
  int64_t gathers = 0, reductions = 0;
  for (const CollectiveRow& row : collective_table(program, program.script("train_step"))) {
    EXPECT_EQ(row.axes, "fsdp");
    EXPECT_LE(row.hidden, row.calls);
    if (row.op == "all_gather") gathers = row.hidden;
    if (row.op == "reduce_scatter") reductions = row.hidden;
  }
  // Two layers, embedding and head: all but the first gather; the last reduction starts before the
  // one before it is waited for, and what that adds to the shard runs beside it.
  EXPECT_GE(gathers, 4);
  EXPECT_EQ(reductions, 4);
}

}  // namespace
}  // namespace tessera
