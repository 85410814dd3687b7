// SPDX-License-Identifier: Apache-2.0
// Programs broken on purpose, one way each: verify must find every one of them unequal, or a check
// must refuse it, while the unbroken program is equal.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/op_list.h"
#include "mutant.h"
#include "studio/lessons/break_program.h"

namespace tessera {
namespace {

using enum AxisKind;

using enum RoutineKind;

const PlanCase kTensor{.model = "Llama", .axes = {{Tp, 2}}};
const PlanCase kData{.model = "Llama", .axes = {{Dp, 2}}};
const PlanCase kDataTensor{.model = "Llama", .axes = {{Dp, 2}, {Tp, 2}}};
const PlanCase kAccumulated{.model = "Llama", .axes = {{Dp, 2}}, .microbatches = 3};
const PlanCase kRing{.model = "Llama", .axes = {{Cp, 2}}};
const PlanCase kUlysses{.model = "Llama", .axes = {{Cp, 2}}, .ulysses = true};
const PlanCase kSequence{.model = "Llama", .axes = {{Tp, 2}}, .sequence_parallel = true};
const PlanCase kSequenceGpt{.model = "Gpt", .axes = {{Dp, 2}, {Tp, 2}}, .sequence_parallel = true};
const PlanCase kZeroOne{.model = "Llama", .axes = {{Dp, 2}}, .zero = 1};
const PlanCase kZeroTwo{.model = "Llama", .axes = {{Dp, 2}}, .zero = 2, .microbatches = 3};
const PlanCase kZeroThree{.model = "Llama", .axes = {{Fsdp, 2}}, .zero = 3, .microbatches = 3};

const PlanCase kPipeline{.model = "Llama", .axes = {{Pp, 2}}, .microbatches = 4};
const PlanCase kTied{.model = "Gpt", .axes = {{Pp, 2}}, .microbatches = 3};
const PlanCase kSplit{.model = "Llama", .axes = {{Pp, 2}}, .microbatches = 3, .schedule = "zb_h1"};
const PlanCase kRebuilt{
    .model = "Llama", .axes = {{Pp, 2}}, .microbatches = 3, .recompute = "block"};

std::vector<Mutant> broken_reshards() {
  return {
      {"SumOfARowMatmulLeftOut", kTensor,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::AllReduce); })},
      {"SumOfTheStreamsGradientLeftOut", kTensor,
       everywhere([](Program& p) { leave_out(p, "layer", Backward, CollectiveOp::AllReduce); })},
      {"SumOfGradientsLeftOut", kData,
       everywhere([](Program& p) { leave_out(p, "layer", Reduce, CollectiveOp::AllReduce); })},
      {"SumOfCopiedKeysGradientsLeftOut",
       {.model = "Llama", .axes = {{Tp, 4}}},
       everywhere([](Program& p) {
         for (int n = 0;; ++n) {  // throws where there is none
           const CollectiveInstruction& sum =
               find_collective(p, "layer", Backward, CollectiveOp::AllReduce, n);
           if (p.group_of(sum).name == "tp.group")
             return leave_out(p, "layer", Backward, CollectiveOp::AllReduce, n);
         }
       })},
      {"ScatteredSumTakenAsASlice", kSequence, everywhere([](Program& p) {
         const CollectiveInstruction scatter =
             find_collective(p, "embedding", Forward, CollectiveOp::ReduceScatter);
         std::vector<Instruction>& forward = routine_of(p, "embedding", Forward);
         const int rank = buffer_of(p, "embedding", "tp");
         std::erase_if(forward, [&](const Instruction& i) {
           const auto* wait = i.as<WaitInstruction>();
           return wait && wait->held.front() == scatter.output;
         });
         for (Instruction& i : forward) {
           const auto* sum = i.as<CollectiveInstruction>();
           if (!sum || sum->output != scatter.output) continue;
           const std::string dim =
               type_of(p, "embedding", scatter.input).dims[static_cast<size_t>(scatter.split)].name;
           i.what = KernelInstruction{.op = OpKind::take_shard,
                                      .attributes = {{"ranks", int64_t{2}}, {"dim", dim}},
                                      .operands = {scatter.input, rank},
                                      .results = {scatter.output}};
         }
       })},
      {"GatherAlongTheWrongDim",
       {.model = "Llama", .axes = {{Dp, 2}, {Tp, 2}}, .sequence_parallel = true},
       everywhere([](Program& p) {
         CollectiveInstruction& gather =
             find_collective(p, "layer", Forward, CollectiveOp::AllGather);
         gather.join = type_of(p, "layer", gather.input).index_of("d");
       })},
      {"ExchangeLeftOut", kUlysses,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::AllToAll); })},
      {"ExchangeOfGradientsLeftOut", kUlysses,
       everywhere([](Program& p) { leave_out(p, "layer", Backward, CollectiveOp::AllToAll, 7); })},
      {"SliceOfTheWrongIndex", kSequenceGpt, everywhere([](Program& p) {
         find_kernel(p, "embedding", Forward, OpKind::take_shard).operands[1] =
             add_rank_value(p, "embedding", {});
       })},
  };
}

std::vector<Mutant> broken_rings() {
  return {
      {"RingHopSkipped", kRing, everywhere([](Program& p) {
         KernelInstruction& merge = find_kernel(p, "layer", Forward, OpKind::merge_attention);
         merge.operands[2] = merge.operands[0];
         merge.operands[3] = merge.operands[1];
       })},
      {"KeysDoNotTravel", kRing,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::Shift, 0); })},
      {"ValuesDoNotTravel", kRing,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::Shift, 1); })},
      {"PositionsDoNotTravel", kRing, everywhere([](Program& p) {
         leave_out_on(p, "layer", Forward, CollectiveOp::Shift, "positions");
       })},
      {"DocumentsDoNotTravel", kRing, everywhere([](Program& p) {
         leave_out_on(p, "layer", Forward, CollectiveOp::Shift, "document");
       })},
      {"PositionsDoNotTravelBackward", kRing, everywhere([](Program& p) {
         leave_out_on(p, "layer", Backward, CollectiveOp::Shift, "positions");
       })},
      {"GradientsOfKeysDoNotComeHome", kRing, everywhere([](Program& p) {
         const int shifts = count_collectives(p, "layer", Backward, CollectiveOp::Shift);
         leave_out(p, "layer", Backward, CollectiveOp::Shift, shifts - 1);
       })},
      // The keys' positions are taken for the queries' own: a wrong causal offset.
      {"WrongCausalOffset", kRing, everywhere([](Program& p) {
         KernelInstruction& hop = find_kernel(p, "layer", Forward, OpKind::attention, 1);
         hop.operands[5] = hop.operands[3];
       })},
      {"WrongCausalOffsetOnOneRank", kRing, on_rank_one([](Program& p) {
         KernelInstruction& hop = find_kernel(p, "layer", Forward, OpKind::attention, 1);
         hop.operands[5] = hop.operands[3];
       })},
      {"WrongCausalOffsetBackward", kRing, on_rank_one([](Program& p) {
         KernelInstruction& hop = find_kernel(p, "layer", Backward, OpKind::attention_grad, 1);
         hop.operands[8] = hop.operands[6];
       })},
  };
}

std::vector<Mutant> broken_vocabularies() {
  return {
      {"EmbeddingWithoutItsShard", kTensor, everywhere([](Program& p) {
         find_kernel(p, "embedding", Forward, OpKind::embedding).operands.pop_back();
       })},
      {"EmbeddingOfTheFirstShardEverywhere", kTensor, everywhere([](Program& p) {
         find_kernel(p, "embedding", Forward, OpKind::embedding).operands[2] =
             add_rank_value(p, "embedding", {});
       })},
      {"GradientOfTheFirstShardEverywhere", kTensor, everywhere([](Program& p) {
         find_kernel(p, "embedding", Backward, OpKind::embedding_grad).operands[2] =
             add_rank_value(p, "embedding", {});
       })},
      {"LossWithoutTheLargestLogit", kTensor,
       everywhere([](Program& p) { leave_out(p, "head", Backward, CollectiveOp::AllReduce, 0); })},
      {"LossWithoutTheSumOfOtherShards", kTensor,
       everywhere([](Program& p) { leave_out(p, "head", Backward, CollectiveOp::AllReduce, 1); })},
      {"PaddingOfTheVocabularyCounted", kTensor, everywhere([](Program& p) {
         for (const OpKind op : {OpKind::output_stats, OpKind::sharded_loss_grad})
           find_kernel(p, "head", Backward, op).attributes.set("vocabulary", int64_t{30});
       })},
  };
}

std::vector<Mutant> broken_flags() {
  return {
      {"LaterMicrobatchWritesGradientsAnew", kAccumulated,
       everywhere([](Program& p) { set_flags(p, Backward, 1, false); })},
      {"FirstMicrobatchAddsToTheLastStep", kAccumulated,
       everywhere([](Program& p) { set_flags(p, Backward, 0, true); })},
      {"LaterMicrobatchCountsLabelsAnew", kAccumulated,
       everywhere([](Program& p) { set_flags(p, Begin, 1, false); })},
      {"NormOfTheLastBlockAlone", kAccumulated,
       everywhere([](Program& p) { set_flags(p, Norm, 2, false); })},
      {"NormAddsToTheLastSteps", kAccumulated,
       everywhere([](Program& p) { set_flags(p, Norm, 2, true); })},
      {"ShardOfTheGradientWrittenAnew", kZeroTwo,
       everywhere([](Program& p) { set_flags(p, ReduceWait, 1, false); })},
      {"UnreducedGradientAddsToTheLastMicrobatch", kZeroTwo,
       everywhere([](Program& p) { set_flags(p, Backward, 1, true); })},
      {"GradientsSummedAtTheFirstMicrobatchNotTheLast", kAccumulated, everywhere([](Program& p) {
         std::vector<ScriptCall> kept, early;
         for (const ScriptCall& call : calls_of(p))
           (call.routine == Reduce || call.routine == ReduceWait ? early : kept).push_back(call);
         const auto second = std::ranges::find_if(
             kept, [](const ScriptCall& c) { return c.routine == Forward && c.microbatch == 1; });
         if (early.empty() || second == kept.end()) throw NothingToBreak("reductions");
         kept.insert(second, early.begin(), early.end());
         calls_of(p) = kept;
       })},
  };
}

std::vector<Mutant> broken_reductions() {
  return {
      // The sum is taken twice: gradients grow by the number of data ranks.
      {"GradientsScaledByTheWorldSize", kData, everywhere([](Program& p) {
         std::vector<ScriptCall> twice;
         for (const ScriptCall& call : calls_of(p)) {
           if (call.routine == Norm && twice.back().routine != Norm)
             for (const ScriptCall& reduce : std::vector<ScriptCall>(twice))
               if (reduce.routine == Reduce || reduce.routine == ReduceWait)
                 twice.push_back(reduce);
           twice.push_back(call);
         }
         calls_of(p) = twice;
       })},
      {"LabelsCountedPerRank", kData, everywhere([](Program& p) {
         leave_out(p, "totals", CountReduce, CollectiveOp::AllReduce);
       })},
      {"LossOfOneRankReported", kData, everywhere([](Program& p) {
         leave_out(p, "totals", MetricReduce, CollectiveOp::AllReduce);
       })},
      {"NormOfOneShard", kZeroOne, everywhere([](Program& p) {
         leave_out(p, "norm_total", NormReduce, CollectiveOp::AllReduce);
       })},
      {"NormOfCopiesCountedTwice", kTensor, everywhere([](Program& p) {
         change_scale(
             p, "layer", [](double scale) { return scale != 1.0; }, 1.0);
       })},
      {"NormOfSplitWeightsHalved", kTensor, everywhere([](Program& p) {
         change_scale(
             p, "layer", [](double scale) { return scale == 1.0; }, 0.5);
       })},
      {"GradientsSummedOverTheWrongAxis", kDataTensor, everywhere([](Program& p) {
         find_collective(p, "layer", Reduce, CollectiveOp::AllReduce).group =
             group_over(p, {p.mesh.find("tp")});
       })},
      {"ActivationsSummedOverTheWrongAxis", kDataTensor, everywhere([](Program& p) {
         find_collective(p, "layer", Forward, CollectiveOp::AllReduce).group =
             group_over(p, {p.mesh.find("dp")});
       })},
      // In place, before the lookup: all data ranks read the same tokens.
      {"SameMinibatchOnAllRanks", kData, everywhere([](Program& p) {
         const int tokens = buffer_of(p, "embedding", "tokens");
         std::vector<Instruction>& forward = routine_of(p, "embedding", Forward);
         const CollectiveInstruction same{.op = CollectiveOp::AllReduce,
                                          .group = group_over(p, {p.mesh.find("dp")}),
                                          .reduction = Reduction::Max,
                                          .input = tokens,
                                          .output = tokens};
         forward.insert(forward.begin(), {.what = same, .phase = Phase::Reduce});
       })},
  };
}

std::vector<Mutant> broken_states() {
  return {
      {"UpdateSkippedOnOneReplica", kData,
       on_rank_one([](Program& p) { remove(p, "layer", Update, "adamw"); })},
      {"UpdatedShardsNotGathered", kZeroOne,
       everywhere([](Program& p) { remove(p, "layer", Update, "all_gather"); })},
      {"UpdateFromTheFirstShardEverywhere", kZeroOne, everywhere([](Program& p) {
         find_kernel(p, "layer", Update, OpKind::take_shard).operands[1] =
             add_rank_value(p, "layer", {});
       })},
      {"GathersOfABlockSkipped", kZeroThree, everywhere([](Program& p) {
         std::vector<ScriptCall>& calls = calls_of(p);
         std::erase_if(calls,
                       [](const ScriptCall& c) { return c.routine == Gather && c.block == 1; });
       })},
      {"GathersOfAMicrobatchSkipped", kZeroThree, everywhere([](Program& p) {
         std::erase_if(calls_of(p), [](const ScriptCall& c) {
           return (c.routine == Gather || c.routine == GatherWait) && c.microbatch == 1;
         });
       })},
      {"ReductionOfAMicrobatchSkipped", kZeroThree, everywhere([](Program& p) {
         std::erase_if(calls_of(p), [](const ScriptCall& c) {
           return (c.routine == Reduce || c.routine == ReduceWait) && c.microbatch == 1;
         });
       })},
  };
}

std::vector<Mutant> swapped_collectives() {
  return {
      // Keys for values and values for keys: of one size, so no rank notices while it runs.
      {"KeysAndValuesSwappedOnOneRank", kRing, on_rank_one([](Program& p) {
         std::swap(find_collective(p, "layer", Forward, CollectiveOp::Shift, 0).output,
                   find_collective(p, "layer", Forward, CollectiveOp::Shift, 1).output);
       })},
      {"CollectivesOfTwoSizesSwappedOnOneRank", kData, on_rank_one([](Program& p) {
         std::vector<ScriptCall*> reductions = find_calls(p, Reduce, 0);
         std::swap(reductions.front()->block, reductions[1]->block);
       })},
      {"CollectivesOfTwoKindsSwappedOnOneRank", kSequence, on_rank_one([](Program& p) {
         CollectiveInstruction& sum =
             find_collective(p, "layer", Forward, CollectiveOp::ReduceScatter);
         sum.op = CollectiveOp::AllReduce;
         sum.split = kNone;
         sum.output = sum.input;
       })},
  };
}

std::function<void(int, Program&)> on_rank_zero(std::function<void(Program&)> change) {
  return [change = std::move(change)](int rank, Program& program) {
    if (rank == 0) change(program);
  };
}

std::vector<Mutant> broken_pipelines() {
  return {
      {"NormOfOneStage", kPipeline, everywhere([](Program& p) {
         leave_out(p, "norm_total", NormReduce, CollectiveOp::AllReduce);
       })},
      {"StreamOfAnotherMicrobatchSent", kPipeline, on_rank_zero([](Program& p) {
         const auto sent = static_cast<size_t>(Repeat::StreamOut);
         for (const RoutineKind routine : {StreamOut, StreamOutDone})
           find_calls(p, routine, 1).front()->bases[sent] =
               find_calls(p, routine, 0).front()->bases[sent];
       })},
      {"MessagesTakenInAnotherOrder", kPipeline, on_rank_one([](Program& p) {
         std::swap(find_calls(p, StreamIn, 0).front()->microbatch,
                   find_calls(p, StreamIn, 1).front()->microbatch);
       })},
      {"StreamReadBeforeItIsThere", kPipeline,
       on_rank_one([](Program& p) { move_after(p, StreamInDone, 0, Forward, 0); })},
      {"GradientReadBeforeItIsThere", kPipeline,
       on_rank_zero([](Program& p) { move_after(p, GradientInDone, 0, Backward, 0); })},
      {"SendNeverAwaited", kPipeline,
       on_rank_zero([](Program& p) { drop_calls(p, StreamOutDone, 0); })},
      {"ReceiveNeverPosted", kPipeline, on_rank_one([](Program& p) {
         drop_calls(p, StreamIn, 3);
         drop_calls(p, StreamInDone, 3);
       })},
      {"TwoStagesWaitForEachOther", kPipeline,
       on_rank_one([](Program& p) { move_after(p, GradientOut, 0, StreamInDone, 3); })},
      {"TiedCopiesNotJoined", kTied,
       [](int rank, Program& p) {
         leave_out(p, rank == 0 ? "embedding" : "head", ReduceTied, CollectiveOp::AllReduce);
       }},
      {"TiedCopyCountedTwiceInTheNorm", kTied, on_rank_one([](Program& p) {
         change_scale(
             p, "head", [](double scale) { return scale == 0.0; }, 1.0);
       })},
      {"WeightGradientsOfAMicrobatchSkipped", kSplit,
       everywhere([](Program& p) { drop_calls(p, WeightGrad, 1); })},
      {"WeightGradientsBeforeTheInputs", kSplit,
       on_rank_zero([](Program& p) { move_after(p, InputGrad, 1, WeightGrad, 1); })},
      {"SegmentNotRebuilt", kRebuilt, everywhere([](Program& p) { drop_calls(p, Recompute, 1); })},
  };
}

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all;
  for (const auto& group :
       {broken_reshards(), broken_rings(), broken_vocabularies(), broken_flags(),
        broken_reductions(), broken_states(), swapped_collectives(), broken_pipelines()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

// Such a program runs, within its bounds, to values that are wrong: nothing has to refuse it.
void expect_unequal_without(RoutineKind routine, CollectiveOp op) {
  RunSpec spec = kZeroThree.spec();
  spec.precision = DType::Fp64;
  VerifyOptions options = poisoned();
  options.change_program = [&](int, Program& p) { leave_out(p, "layer", routine, op); };
  EXPECT_FALSE(verify_plan(spec, options).equal());
}

TEST(LeftOut, AnAllGatherRepeatsTheShard) {
  expect_unequal_without(Gather, CollectiveOp::AllGather);
}

TEST(LeftOut, AReduceScatterTakesTheRanksOwnShare) {
  expect_unequal_without(Reduce, CollectiveOp::ReduceScatter);
}

class MutantTest : public testing::TestWithParam<std::tuple<Mutant, DType>> {};

TEST_P(MutantTest, IsCaught) {
  const auto& [mutant, precision] = GetParam();
  expect_caught(mutant, precision);
}

INSTANTIATE_TEST_SUITE_P(Broken, MutantTest,
                         testing::Combine(testing::ValuesIn(all_mutants()),
                                          testing::Values(DType::Fp64, DType::Fp32, DType::Bf16)),
                         [](const auto& instance) {
                           return fmt::format("{}_{}", std::get<0>(instance.param).name,
                                              name(std::get<1>(instance.param)));
                         });

}  // namespace
}  // namespace tessera
