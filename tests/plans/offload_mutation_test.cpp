// SPDX-License-Identifier: Apache-2.0
// Programs whose copies between device and host are broken, one way each: what is not waited for,
// taken too early or too late, or from another place. All must be caught.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/op_list.h"
#include "mutant.h"
#include "studio/lessons/break_program.h"

namespace tessera {
namespace {

using enum AxisKind;
using enum RoutineKind;

const PlanCase kMoments{.model = "Llama", .axes = {{Dp, 2}}, .offload = "moments", .layers = 4};
const PlanCase kStates{.model = "Llama", .axes = {{Dp, 2}}, .offload = "states", .layers = 4};
const PlanCase kThere{
    .model = "Llama", .axes = {{Dp, 2}}, .offload = "states", .update_on_host = true, .layers = 4};
const PlanCase kWeights{.model = "Llama", .axes = {{Dp, 2}}, .offload = "parameters", .layers = 4};
const PlanCase kShards{
    .model = "Llama", .axes = {{Fsdp, 2}}, .zero = 3, .offload = "parameters", .layers = 4};
const PlanCase kActivations{
    .model = "Llama", .axes = {{Dp, 2}}, .microbatches = 2, .offload = "activations", .layers = 6};
const PlanCase kPipeline{
    .model = "Llama", .axes = {{Pp, 2}}, .microbatches = 4, .offload = "activations"};

const PlanCase kGradients{
    .model = "Llama", .axes = {{Dp, 2}}, .microbatches = 3, .offload = "gradients", .layers = 4};
const PlanCase kGradientShards{.model = "Llama",
                               .axes = {{Fsdp, 2}},
                               .zero = 3,
                               .microbatches = 3,
                               .offload = "gradients",
                               .layers = 4};
const PlanCase kGradientsThere{.model = "Llama",
                               .axes = {{Dp, 2}},
                               .microbatches = 2,
                               .offload = "states,gradients",
                               .update_on_host = true,
                               .layers = 4};

// The n-th copy of a routine.
CopyInstruction& find_copy(Program& p, RoutineKind routine, int n = 0) {
  for (Instruction& instruction : routine_of(p, "layer", routine))
    if (auto* copy = instruction.as<CopyInstruction>(); copy && n-- == 0) return *copy;
  throw NothingToBreak(fmt::format("no copy in {}", name(routine)));
}

// Of one block alone.
void drop(Program& p, RoutineKind routine, int block) {
  if (std::erase_if(calls_of(p), [&](const ScriptCall& call) {
        return call.routine == routine && call.block == block;
      }) == 0)
    throw NothingToBreak(fmt::format("{} of block {}", name(routine), block));
}

ScriptCall& find_call(Program& p, RoutineKind routine, int block, int microbatch = 0) {
  for (ScriptCall& call : calls_of(p))
    if (call.routine == routine && call.block == block && call.microbatch == microbatch)
      return call;
  throw NothingToBreak(fmt::format("{} of block {}", name(routine), block));
}

// The first call of that kind goes right after another.
void put_after(Program& p, RoutineKind routine, int block, RoutineKind other, int other_block,
               int microbatch = 0) {
  std::vector<ScriptCall>& calls = calls_of(p);
  const auto at = [&](RoutineKind kind, int of) {
    return &find_call(p, kind, of, microbatch) - calls.data();
  };
  const ScriptCall moved = calls[static_cast<size_t>(at(routine, block))];
  calls.erase(calls.begin() + at(routine, block));
  calls.insert(calls.begin() + at(other, other_block) + 1, moved);
}

// The n-th call of that kind, -1 the last one: where it is.
std::ptrdiff_t place_of(Program& p, RoutineKind routine, int block, int n) {
  std::vector<std::ptrdiff_t> places;
  for (const ScriptCall& call : calls_of(p))
    if (call.routine == routine && call.block == block)
      places.push_back(&call - calls_of(p).data());
  if (n < 0) n += static_cast<int>(places.size());
  if (n < 0 || n >= static_cast<int>(places.size()))
    throw NothingToBreak(fmt::format("{} of block {}", name(routine), block));
  return places[static_cast<size_t>(n)];
}

void drop_one(Program& p, RoutineKind routine, int block, int n) {
  calls_of(p).erase(calls_of(p).begin() + place_of(p, routine, block, n));
}

// The n-th call goes right before the m-th of another kind.
void put_one_before(Program& p, RoutineKind routine, int block, int n, RoutineKind other,
                    int other_block, int m) {
  std::vector<ScriptCall>& calls = calls_of(p);
  const ScriptCall moved = calls[static_cast<size_t>(place_of(p, routine, block, n))];
  drop_one(p, routine, block, n);
  calls.insert(calls.begin() + place_of(p, other, other_block, m), moved);
}

// Blocks keep what they have of a buffer where another block has it.
void share_place(Program& p, int buffer, int block, int other) {
  p.blocks[static_cast<size_t>(block)].offsets[static_cast<size_t>(buffer)] =
      p.blocks[static_cast<size_t>(other)].offsets[static_cast<size_t>(buffer)];
}

// All buffers of the host's of a class that lie at one place.
void share_host_place(Program& p, int block, int other) {
  const ProgramClass& layer = p.class_of(p.blocks[static_cast<size_t>(block)]);
  bool found = false;
  for (size_t i = 0; i < layer.buffers.size(); ++i)
    if (layer.buffers[i].space == MemorySpace::Host) {
      share_place(p, static_cast<int>(i), block, other);
      found = true;
    }
  if (!found) throw NothingToBreak("nothing rests on the host");
}

int copies_in(Program& p, RoutineKind routine) {
  return static_cast<int>(std::ranges::count_if(
      routine_of(p, "layer", routine),
      [](const Instruction& i) { return i.as<CopyInstruction>() != nullptr; }));
}

// Without the copy and the wait for it.
void leave_out_copy(Program& p, RoutineKind start, RoutineKind done, int n) {
  const int output = find_copy(p, start, n).output;
  const int input = find_copy(p, start, n).input;
  std::erase_if(routine_of(p, "layer", start), [&](const Instruction& i) {
    const auto* copy = i.as<CopyInstruction>();
    return copy && copy->output == output;
  });
  std::erase_if(routine_of(p, "layer", done), [&](const Instruction& i) {
    const auto* wait = i.as<WaitInstruction>();
    return wait && std::ranges::count(wait->held, input) > 0;
  });
}

std::vector<Mutant> broken_states() {
  return {
      {"StatesNeverAwaited", kMoments, everywhere([](Program& p) { drop(p, StatesInDone, 2); })},
      {"StatesReadBeforeTheyAreThere", kMoments,
       everywhere([](Program& p) { put_after(p, StatesInDone, 2, Update, 2); })},
      {"StatesOfTheBlockBeforeTakenForItsOwn", kMoments, everywhere([](Program& p) {
         drop(p, StatesIn, 3);
         drop(p, StatesInDone, 3);
       })},
      {"StatesNotWrittenBack", kMoments, everywhere([](Program& p) {
         drop(p, StatesOut, 2);
         drop(p, StatesOutDone, 2);
       })},
      {"StatesNotWrittenBackOnOneRank", kMoments, on_rank_one([](Program& p) {
         drop(p, StatesOut, 2);
         drop(p, StatesOutDone, 2);
       })},
      {"StatesLeaveBeforeTheyAreUpdated", kMoments,
       everywhere([](Program& p) { put_after(p, StatesOut, 2, StatesInDone, 2); })},
      {"WindowTakenBeforeItIsEmpty", kMoments,
       everywhere([](Program& p) { put_after(p, StatesOutDone, 1, StatesIn, 3); })},
      {"MomentsSwapped", kMoments, everywhere([](Program& p) {
         std::swap(find_copy(p, StatesIn, 0).input, find_copy(p, StatesIn, 1).input);
       })},
      {"MomentOfAnotherBlock", kMoments, everywhere([](Program& p) { share_host_place(p, 2, 3); })},
      {"MomentOfAnotherBlockOnOneRank", kMoments,
       on_rank_one([](Program& p) { share_host_place(p, 2, 3); })},
      {"TwoBlocksInOneWindow", kMoments, everywhere([](Program& p) {
         share_place(p, buffer_of(p, "layer", "bundle0.moment1.staged"), 2, 3);
         for (const RoutineKind routine : {StatesIn, StatesInDone})
           for (const Instruction& i : routine_of(p, "layer", routine))
             for (const int buffer : writes(i)) share_place(p, buffer, 2, 3);
       })},
      {"UpdateOnTheHostsMemory", kMoments, everywhere([](Program& p) {
         KernelInstruction& update = find_kernel(p, "layer", Update, OpKind::adamw);
         update.operands[2] = buffer_of(p, "layer", "bundle0.moment1");
       })},
      {"OneMomentStays", kMoments,
       everywhere([](Program& p) { leave_out_copy(p, StatesOut, StatesOutDone, 1); })},
      {"GradientOfThisStepStaysOnTheDevice", kThere, everywhere([](Program& p) {
         KernelInstruction& update = find_kernel(p, "layer", Update, OpKind::adamw);
         update.operands[1] = update.operands[2];
       })},
      {"WeightsDoNotComeBackFromTheHost", kThere, everywhere([](Program& p) {
         const int updated = find_kernel(p, "layer", Update, OpKind::adamw).results.front();
         std::erase_if(routine_of(p, "layer", Update), [&](const Instruction& i) {
           const auto* copy = i.as<CopyInstruction>();
           return copy && copy->input == updated;
         });
       })},
      {"UpdateOnTheHostReadsTheDevice", kThere, everywhere([](Program& p) {
         KernelInstruction& update = find_kernel(p, "layer", Update, OpKind::adamw);
         update.operands[1] = buffer_of(p, "layer", "bundle0.gradient");
       })},
      {"AveragesStay", kStates, everywhere([](Program& p) {
         leave_out_copy(p, StatesOut, StatesOutDone, copies_in(p, StatesOut) - 1);
       })},
  };
}

std::vector<Mutant> broken_weights() {
  return {
      {"StaleWeights", kWeights, everywhere([](Program& p) {
         drop(p, StatesOut, 2);
         drop(p, StatesOutDone, 2);
       })},
      {"WeightsOfAnotherBlock", kWeights,
       everywhere([](Program& p) { share_host_place(p, 2, 3); })},
      {"WeightsReadBeforeTheyAreThere", kWeights,
       everywhere([](Program& p) { put_after(p, GatherWait, 2, Forward, 2); })},
      {"WeightsNotBrought", kWeights, everywhere([](Program& p) {
         drop(p, Gather, 2);
         drop(p, GatherWait, 2);
       })},
      {"ShardGatheredBeforeItIsThere", kShards,
       everywhere([](Program& p) { remove(p, "layer", Gather, "wait"); })},
      {"ShardNotBrought", kShards, everywhere([](Program& p) {
         drop(p, WeightsIn, 2);
         remove(p, "layer", Gather, "wait");
       })},
      {"ShardOfAnotherBlockOnOneRank", kShards,
       on_rank_one([](Program& p) { share_host_place(p, 2, 3); })},
  };
}

// Block 2's gradient in each microbatch: it adds up, leaves, comes back for the next backward, then
// for the norm and the update.
std::vector<Mutant> broken_gradients() {
  return {
      {"GradientsNeverAwaited", kGradients,
       everywhere([](Program& p) { drop_one(p, GradientsInDone, 2, 0); })},
      {"GradientsAddedToBeforeTheyAreBack", kGradients, everywhere([](Program& p) {
         put_one_before(p, GradientsInDone, 2, 0, GradientsOut, 2, 1);
       })},
      {"GradientsNotBrought", kGradients, everywhere([](Program& p) {
         drop_one(p, GradientsIn, 2, 0);
         drop_one(p, GradientsInDone, 2, 0);
       })},
      {"GradientsDoNotLeave", kGradients, everywhere([](Program& p) {
         drop_one(p, GradientsOut, 2, 0);
         drop_one(p, GradientsOutDone, 2, 0);
       })},
      {"GradientsOfAMicrobatchForgotten", kGradients, everywhere([](Program& p) {
         drop_one(p, GradientsOut, 2, 1);
         drop_one(p, GradientsOutDone, 2, 1);
       })},
      {"GradientsOfTheLastMicrobatchForgottenOnOneRank", kGradients, on_rank_one([](Program& p) {
         drop_one(p, GradientsOut, 2, -1);
         drop_one(p, GradientsOutDone, 2, -1);
       })},
      {"GradientsLeaveBeforeTheyAreAddedTo", kGradients,
       everywhere([](Program& p) { put_one_before(p, GradientsOut, 2, 1, Backward, 2, 1); })},
      {"GradientsLeaveBeforeTheyAreSummed", kGradients,
       everywhere([](Program& p) { put_one_before(p, GradientsOut, 2, -1, Reduce, 2, -1); })},
      {"GradientOfAnotherBlock", kGradients,
       everywhere([](Program& p) { share_host_place(p, 2, 3); })},
      {"GradientOfAnotherBlockOnOneRank", kGradients,
       on_rank_one([](Program& p) { share_host_place(p, 2, 3); })},
      {"GradientShardsNotBroughtForTheNextSum", kGradientShards, everywhere([](Program& p) {
         drop_one(p, GradientsIn, 2, 0);
         drop_one(p, GradientsInDone, 2, 0);
       })},
      {"GradientShardsReadForTheNormBeforeTheyAreThere", kGradientShards,
       everywhere([](Program& p) { put_one_before(p, GradientsInDone, 2, -2, Norm, 3, 0); })},
      {"OneGradientStays", kGradients,
       everywhere([](Program& p) { leave_out_copy(p, GradientsOut, GradientsOutDone, 0); })},
      {"UpdateOnTheHostBeforeGradientsAreThere", kGradientsThere, everywhere([](Program& p) {
         drop_one(p, GradientsOut, 2, -1);
         drop_one(p, GradientsOutDone, 2, -1);
       })},
  };
}

size_t at(Repeat repeat) { return static_cast<size_t>(repeat); }

std::vector<Mutant> broken_activations() {
  return {
      {"ActivationsNeverAwaited", kActivations,
       everywhere([](Program& p) { drop(p, ActivationsInDone, 2); })},
      {"ActivationsReadBeforeTheyAreBack", kActivations,
       everywhere([](Program& p) { put_after(p, ActivationsInDone, 2, Backward, 2); })},
      {"ActivationsNotBrought", kActivations, everywhere([](Program& p) {
         drop(p, ActivationsIn, 2);
         drop(p, ActivationsInDone, 2);
       })},
      {"ActivationsDoNotLeave", kActivations, everywhere([](Program& p) {
         drop(p, ActivationsOut, 2);
         drop(p, ActivationsOutDone, 2);
       })},
      {"ActivationsOfTheLastMicrobatchTaken", kActivations, everywhere([](Program& p) {
         for (const RoutineKind routine : {ActivationsOut, ActivationsOutDone})
           find_call(p, routine, 2, 1).bases[at(Repeat::AwayInHost)] =
               find_call(p, routine, 3, 1).bases[at(Repeat::AwayInHost)];
       })},
      {"BytesTakenWhileTheyLeave", kActivations,
       everywhere([](Program& p) { put_after(p, ActivationsOutDone, 1, Forward, 5); })},
      {"ActivationsComeBackToAnotherPlace", kActivations, everywhere([](Program& p) {
         for (const RoutineKind routine : {ActivationsIn, ActivationsInDone})
           find_call(p, routine, 2).bases[at(Repeat::Away)] =
               find_call(p, routine, 3).bases[at(Repeat::Away)];
       })},
      {"OneActivationStays", kActivations,
       everywhere([](Program& p) { leave_out_copy(p, ActivationsOut, ActivationsOutDone, 1); })},
      {"ActivationsOfAnotherMicrobatch", kPipeline, everywhere([](Program& p) {
         for (const RoutineKind routine : {ActivationsIn, ActivationsInDone})
           for (ScriptCall* call : find_calls(p, routine, 1))
             call->bases[at(Repeat::AwayInHost)] =
                 find_call(p, routine, call->block, 0).bases[at(Repeat::AwayInHost)];
       })},
  };
}

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all;
  for (const auto& group :
       {broken_states(), broken_weights(), broken_gradients(), broken_activations()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

class OffloadMutantTest : public testing::TestWithParam<std::tuple<Mutant, DType>> {};

TEST_P(OffloadMutantTest, IsCaught) {
  const auto& [mutant, precision] = GetParam();
  expect_caught(mutant, precision);
}

INSTANTIATE_TEST_SUITE_P(Broken, OffloadMutantTest,
                         testing::Combine(testing::ValuesIn(all_mutants()),
                                          testing::Values(DType::Fp64, DType::Fp32)),
                         [](const auto& instance) {
                           return fmt::format("{}_{}", std::get<0>(instance.param).name,
                                              name(std::get<1>(instance.param)));
                         });

}  // namespace
}  // namespace tessera
