// SPDX-License-Identifier: Apache-2.0
// Rings of pieces that are broken, one way each: what does not travel, is put at another's place,
// or is summed twice or not at all. All must be caught.
#include <gtest/gtest.h>

#include "ir/op_list.h"
#include "mutant.h"
#include "studio/lessons/break_program.h"

namespace tessera {
namespace {

using enum AxisKind;
using enum RoutineKind;

// A layer's forward has four rings of three hops: queries, keys and values; the sum after wo; the
// mlp's first matmul; the sum after its second one.
const PlanCase kFour{
    .model = "Gpt", .axes = {{Tp, 4}}, .sequence_parallel = true, .in_rings = true};
const PlanCase kTwoAxes{
    .model = "Llama", .axes = {{Dp, 2}, {Tp, 2}}, .sequence_parallel = true, .in_rings = true};
// tp.group x tp.kv.
const PlanCase kSplit{
    .model = "Llama", .axes = {{Tp, 4}}, .sequence_parallel = true, .in_rings = true};
// Where the backward is split, no weight gradient hides the sums of its first part.
const PlanCase kPipeline{.model = "Llama",
                         .axes = {{Pp, 2}, {Tp, 2}},
                         .sequence_parallel = true,
                         .microbatches = 3,
                         .schedule = "zb_h1",
                         .in_rings = true};
constexpr int kHops = 3;

int64_t hop_of(const KernelInstruction& take) { return take.attributes.integer("hop"); }

// Of every piece that a routine takes.
void change_hops(Program& p, RoutineKind routine, int64_t (*change)(int64_t hop)) {
  for (Instruction& instruction : routine_of(p, "layer", routine))
    if (auto* take = instruction.as<KernelInstruction>(); take && take->op == OpKind::take_piece)
      take->attributes.set("hop", change(hop_of(*take)));
}

KernelInstruction& find_join(Program& p, RoutineKind routine, int n = 0) {
  return find_kernel(p, "layer", routine, OpKind::join_pieces, n);
}

std::vector<Mutant> broken_gathers() {
  return {
      {"FirstHopLeftOut", kFour,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::Shift, 0); })},
      {"LastHopLeftOut", kFour, everywhere([](Program& p) {
         leave_out(p, "layer", Forward, CollectiveOp::Shift, kHops - 1);
       })},
      {"HopOverTheWrongAxis", kTwoAxes, everywhere([](Program& p) {
         find_collective(p, "layer", Forward, CollectiveOp::Shift).group =
             group_over(p, {p.mesh.find("dp")});
       })},
      {"HopOverOneOfTwoPartsOfTheAxis", kSplit, everywhere([](Program& p) {
         for (int n = 0;; ++n) {  // throws where there is none
           CollectiveInstruction& hop =
               find_collective(p, "layer", Forward, CollectiveOp::Shift, n);
           if (p.group_of(hop).size < 4) continue;
           hop.group = group_over(p, {p.mesh.find("tp.kv")});
           return;
         }
       })},
      {"PieceMultipliedTwice", kFour, everywhere([](Program& p) {
         const int own = find_kernel(p, "layer", Forward, OpKind::matmul_epilogue, 0).operands[0];
         for (int n = 1;; ++n) {
           KernelInstruction& next = find_kernel(p, "layer", Forward, OpKind::matmul_epilogue, n);
           if (next.operands[0] == own) continue;
           next.operands[0] = own;
           return;
         }
       })},
      {"ResultsOfTwoHopsExchanged", kFour, everywhere([](Program& p) {
         KernelInstruction& join = find_join(p, Forward);
         std::swap(join.operands[1], join.operands[2]);
       })},
      {"RowsInTheOrderOfTheOtherDirection", kFour, everywhere([](Program& p) {
         KernelInstruction& join = find_join(p, Forward, 1);
         std::reverse(join.operands.begin() + 2, join.operands.end());
       })},
      {"RowsOfTheFirstRankEverywhere", kFour, everywhere([](Program& p) {
         find_join(p, Forward).operands[0] = add_rank_value(p, "layer", {});
       })},
      {"RowsOfTheFirstRankOnRankOne", kFour, on_rank_one([](Program& p) {
         find_join(p, Forward, 3).operands[0] = add_rank_value(p, "layer", {});
       })},
      {"WeightGradientOfAnotherOrder", kFour, everywhere([](Program& p) {
         for (int n = 0;; ++n) {  // the one that joins what has travelled
           KernelInstruction& join = find_join(p, Backward, n);
           const std::string& name =
               p.class_of(p.blocks[1]).buffers[static_cast<size_t>(join.results[0])].name;
           if (name.find("all_gather") == std::string::npos) continue;
           std::swap(join.operands[1], join.operands[2]);
           return;
         }
       })},
      {"SlopeOfAnotherPiece", kFour, everywhere([](Program& p) {
         KernelInstruction& first = find_kernel(p, "layer", Backward, OpKind::take_piece, 0);
         first.attributes.set("hop", (hop_of(first) + 1) % 4);
       })},
  };
}

std::vector<Mutant> broken_sums() {
  return {
      {"FirstHopOfASumLeftOut", kFour,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::Shift, kHops); })},
      {"LastHopOfASumLeftOut", kFour, everywhere([](Program& p) {
         leave_out(p, "layer", Forward, CollectiveOp::Shift, 2 * kHops - 1);
       })},
      {"HopOfAGradientLeftOut", kFour,
       everywhere([](Program& p) { leave_out(p, "layer", Backward, CollectiveOp::Shift, 0); })},
      {"HopOfAGradientsSumLeftOut", kPipeline, everywhere([](Program& p) {
         leave_out(p, "layer", InputGrad, CollectiveOp::Shift,
                   count_collectives(p, "layer", InputGrad, CollectiveOp::Shift) - 1);
       })},
      {"TravellingSumAddedTwice", kFour, everywhere([](Program& p) {
         KernelInstruction& add = find_kernel(p, "layer", Forward, OpKind::add, 0);
         add.operands[1] = add.operands[0];
       })},
      {"OwnTermAddedTwice", kFour, everywhere([](Program& p) {
         KernelInstruction& add = find_kernel(p, "layer", Forward, OpKind::add, 1);
         add.operands[0] = add.operands[1];
       })},
      {"PiecesOfTheOtherDirection", kFour, everywhere([](Program& p) {
         change_hops(p, Forward, [](int64_t hop) { return (4 - hop) % 4; });
       })},
      {"EachRankEndsWithItsNeighboursPiece", kFour, everywhere([](Program& p) {
         change_hops(p, Forward, [](int64_t hop) { return (hop + 1) % 4; });
       })},
      {"PieceTakenAsTheFirstRank", kFour, everywhere([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::take_piece).operands[1] =
             add_rank_value(p, "layer", {});
       })},
      {"HopNotWaitedFor", kFour, everywhere([](Program& p) {
         const int hop = find_collective(p, "layer", Forward, CollectiveOp::Shift, kHops).output;
         if (std::erase_if(routine_of(p, "layer", Forward), [&](const Instruction& i) {
               const auto* wait = i.as<WaitInstruction>();
               return wait && wait->held.front() == hop;
             }) == 0)
           throw NothingToBreak("wait");
       })},
  };
}

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all = broken_gathers();
  for (Mutant& mutant : broken_sums()) all.push_back(std::move(mutant));
  return all;
}

class TpOverlapMutant : public testing::TestWithParam<Mutant> {};

TEST_P(TpOverlapMutant, IsCaught) { expect_caught(GetParam(), DType::Fp64); }
TEST_P(TpOverlapMutant, IsCaughtInBf16) { expect_caught(GetParam(), DType::Bf16); }

INSTANTIATE_TEST_SUITE_P(Broken, TpOverlapMutant, testing::ValuesIn(all_mutants()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace tessera
