// SPDX-License-Identifier: Apache-2.0
// Programs of Muon broken on purpose: a matrix in pieces must be made whole, moved by its own
// momentum, made orthogonal by one rank, and come back to where its pieces were.
#include <gtest/gtest.h>

#include "ir/op_list.h"
#include "mutant.h"
#include "studio/lessons/break_program.h"

namespace tessera {
namespace {

using enum AxisKind;
using enum RoutineKind;

const PlanCase kWhole{.model = "Llama", .axes = {{Dp, 2}}, .optimizer = "muon"};
const PlanCase kCut{.model = "Llama", .axes = {{Tp, 2}}, .optimizer = "muon"};
const PlanCase kSharded{.model = "Llama", .axes = {{Dp, 2}}, .zero = 1, .optimizer = "muon"};
const PlanCase kAtRest{
    .model = "Llama", .axes = {{Fsdp, 2}}, .zero = 3, .microbatches = 3, .optimizer = "muon"};
const PlanCase kBoth{
    .model = "Llama", .axes = {{Fsdp, 2}, {Tp, 2}}, .zero = 3, .optimizer = "muon"};
const PlanCase kExperts{.model = "Moe", .axes = {{Ep, 2}}, .optimizer = "muon"};

KernelInstruction& orthogonalize_of(Program& p) {
  return find_kernel(p, "layer", Update, OpKind::orthogonalize);
}

// In the first list of matrices that has it, the first time.
void change_matrices(Program& p, std::string_view from, std::string_view to) {
  for (int n = 0;; ++n) {  // throws where there is none
    KernelInstruction& kernel = find_kernel(p, "layer", Update, OpKind::orthogonalize, n);
    std::string text = kernel.attributes.word("matrices");
    const size_t at = text.find(from);
    if (at == std::string::npos) continue;
    kernel.attributes.set("matrices", text.replace(at, from.size(), to));
    return;
  }
}

std::vector<Mutant> broken_pieces() {
  return {
      {"PiecesOfTensorRanksNotGathered", kCut,
       everywhere([](Program& p) { leave_out(p, "layer", Update, CollectiveOp::AllGather); })},
      {"ShardsNotGathered", kSharded,
       everywhere([](Program& p) { leave_out(p, "layer", Update, CollectiveOp::AllGather); })},
      {"ShardsAtRestNotGathered", kAtRest,
       everywhere([](Program& p) { leave_out(p, "layer", Update, CollectiveOp::AllGather); })},
      {"OwnersKeepWhatTheyMade", kWhole,
       everywhere([](Program& p) { leave_out(p, "layer", Update, CollectiveOp::AllReduce); })},
      {"PiecesDoNotComeBack", kCut,
       everywhere([](Program& p) { leave_out(p, "layer", Update, CollectiveOp::ReduceScatter); })},
      {"ShardsDoNotComeBack", kAtRest,
       everywhere([](Program& p) { leave_out(p, "layer", Update, CollectiveOp::ReduceScatter); })},
  };
}

std::vector<Mutant> broken_owners() {
  return {
      {"EveryRankOwnsTheFirstRanksMatrices", kWhole, everywhere([](Program& p) {
         orthogonalize_of(p).operands[1] = add_rank_value(p, "layer", {});
       })},
      {"ARankOwnsWhatAnotherDoes", kCut, on_rank_one([](Program& p) {
         orthogonalize_of(p).operands[1] = add_rank_value(p, "layer", {});
       })},
      {"EveryRankOwnsAllAndTheirSumIsTaken", kSharded, everywhere([](Program& p) {
         orthogonalize_of(p).attributes.set("ranks", int64_t{1});
         orthogonalize_of(p).operands.pop_back();
       })},
      {"GatheredOverTheWrongAxis", kBoth, everywhere([](Program& p) {
         find_collective(p, "layer", Update, CollectiveOp::AllGather).group =
             group_over(p, {p.mesh.find("tp")});
       })},
  };
}

std::vector<Mutant> broken_matrices() {
  return {
      {"ScaledByAnotherRule", kCut,
       everywhere([](Program& p) { orthogonalize_of(p).attributes.set("matched_rms", 0.0); })},
      {"GateAndUpTakenForOneMatrix", kCut,
       everywhere([](Program& p) { change_matrices(p, ".s", ".c"); })},
      {"EachRanksColumnsTakenForAMatrix", kCut,
       everywhere([](Program& p) { change_matrices(p, ".c2-", ".s2-"); })},
      {"EachRanksRowsTakenForAMatrix", kCut,
       everywhere([](Program& p) { change_matrices(p, ".r2-", ".s2-"); })},
      {"ExpertsTakenForOneMatrix", kExperts,
       everywhere([](Program& p) { change_matrices(p, ".s", ".r"); })},
      {"MatricesSomeElementsLater", kAtRest,
       everywhere([](Program& p) { change_matrices(p, "0.", "32."); })},
  };
}

std::vector<Mutant> broken_momentum() {
  return {
      {"MomentumOfAnotherShard", kSharded, everywhere([](Program& p) {
         const int momentum = find_kernel(p, "layer", Update, OpKind::nesterov).operands[1];
         std::vector<Instruction>& update = routine_of(p, "layer", Update);
         const CollectiveInstruction larger{.op = CollectiveOp::AllReduce,
                                            .group = group_over(p, {p.mesh.find("dp")}),
                                            .reduction = Reduction::Max,
                                            .input = momentum,
                                            .output = momentum};
         update.insert(update.begin(), {.what = larger, .phase = Phase::Update});
       })},
      {"MomentumTakenForTheGradient", kSharded, everywhere([](Program& p) {
         KernelInstruction& step = find_kernel(p, "layer", Update, OpKind::nesterov);
         step.operands[0] = step.operands[1];
       })},
      {"MomentumForgotten", kAtRest, everywhere([](Program& p) {
         find_kernel(p, "layer", Update, OpKind::nesterov).attributes.set("momentum", 0.0);
       })},
      {"MomentumNotClipped", kWhole, everywhere([](Program& p) {
         find_kernel(p, "layer", Update, OpKind::nesterov).attributes.set("clip_norm", 0.0);
       })},
      {"DirectionClippedOnceMore", kWhole, everywhere([](Program& p) {
         find_kernel(p, "layer", Update, OpKind::muon).attributes.set("clip_norm", 0.25);
       })},
      {"GradientInTheDirectionsPlace", kCut, everywhere([](Program& p) {
         find_kernel(p, "layer", Update, OpKind::muon).operands[1] =
             find_kernel(p, "layer", Update, OpKind::nesterov).operands[0];
       })},
      {"ParametersOfAdamWWithoutTheirUpdate", kWhole,
       on_rank_one([](Program& p) { remove(p, "layer", Update, "adamw"); })},
  };
}

std::vector<Mutant> all_muon_mutants() {
  std::vector<Mutant> all;
  for (const auto& mutants :
       {broken_pieces(), broken_owners(), broken_matrices(), broken_momentum()})
    all.insert(all.end(), mutants.begin(), mutants.end());
  return all;
}

class MuonMutantTest : public testing::TestWithParam<Mutant> {};

TEST_P(MuonMutantTest, IsCaught) { expect_caught(GetParam(), DType::Fp64); }

INSTANTIATE_TEST_SUITE_P(Broken, MuonMutantTest, testing::ValuesIn(all_muon_mutants()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace tessera
