// SPDX-License-Identifier: Apache-2.0
// Programs of a mixture of experts, broken as other frameworks have been: gradients of experts
// summed over the wrong ranks, norms that miss them, tokens and gates that go astray. All must be
// caught.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/op_list.h"
#include "mutant.h"
#include "studio/lessons/break_program.h"

namespace tessera {
namespace {

using enum AxisKind;
using enum RoutineKind;

const PlanCase kExperts{.model = "Moe", .axes = {{Ep, 2}}};
const PlanCase kReplicated{.model = "Moe", .axes = {{Dp, 2}, {Ep, 2}}};
const PlanCase kSharded{.model = "Moe", .axes = {{Fsdp, 2}, {Ep, 2}}, .zero = 3};
const PlanCase kData{.model = "Moe", .axes = {{Dp, 2}}};
const PlanCase kTensor{.model = "Moe", .axes = {{Tp, 2}}};
const PlanCase kDeepSeek{.model = "DeepSeek", .axes = {{Ep, 2}}};
const PlanCase kAccumulated{.model = "Moe", .axes = {{Ep, 2}}, .microbatches = 3};

// The reduction of a layer's gradients over a group of that name.
CollectiveInstruction& find_reduction(Program& p, CollectiveOp op, std::string_view group) {
  for (int n = 0;; ++n)  // throws where there is none
    if (CollectiveInstruction& sum = find_collective(p, "layer", Reduce, op, n);
        p.group_of(sum).name == group)
      return sum;
}

std::vector<Mutant> broken_sums() {
  return {
      {"GradientsOfExpertsAlsoSummedOverEp", kReplicated, everywhere([](Program& p) {
         find_reduction(p, CollectiveOp::AllReduce, "dp").group =
             group_over(p, {p.mesh.find("dp"), p.mesh.find("ep")});
       })},
      {"GradientsOfExpertsSummedOverEpInstead", kReplicated, everywhere([](Program& p) {
         find_reduction(p, CollectiveOp::AllReduce, "dp").group =
             group_over(p, {p.mesh.find("ep")});
       })},
      {"GradientsOfExpertsNotSummedOverDp", kReplicated, everywhere([](Program& p) {
         find_reduction(p, CollectiveOp::AllReduce, "dp").group = group_over(p, {});
       })},
      {"GradientsOfDenseWeightsNotSummedOverEp", kReplicated, everywhere([](Program& p) {
         find_reduction(p, CollectiveOp::AllReduce, "dp+ep").group =
             group_over(p, {p.mesh.find("dp")});
       })},
      {"DenseWeightsScatteredOverAllAndGatheredOverFsdp", kSharded, everywhere([](Program& p) {
         for (int n = 0;; ++n)
           if (CollectiveInstruction& gather =
                   find_collective(p, "layer", Gather, CollectiveOp::AllGather, n);
               p.group_of(gather).name == "fsdp+ep") {
             gather.group = group_over(p, {p.mesh.find("fsdp")});
             return;
           }
       })},
      {"NormWithoutExperts", kExperts, everywhere([](Program& p) {
         change_scale(
             p, "layer", [](double scale) { return scale == 1.0; }, 0.0);
       })},
      {"NormOfExpertsCountedTwice", kExperts, everywhere([](Program& p) {
         change_scale(
             p, "layer", [](double scale) { return scale == 1.0; }, 2.0);
       })},
      {"NormOfExpertsTakenForCopies", kExperts, everywhere([](Program& p) {
         change_scale(
             p, "layer", [](double scale) { return scale == 1.0; }, 0.5);
       })},
      {"NormOfOneRanksExperts", kExperts, everywhere([](Program& p) {
         leave_out(p, "norm_total", NormReduce, CollectiveOp::AllReduce);
       })},
      {"ExpertsGradientsOfAMicrobatchReplaceThose", kAccumulated,
       everywhere([](Program& p) { set_flags(p, Backward, 1, false); })},
  };
}

std::vector<Mutant> broken_moves() {
  return {
      {"TokensNotGathered", kExperts,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::AllGather, 0); })},
      {"ChoicesNotGathered", kExperts,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::AllGather, 1); })},
      {"GatesNotGathered", kExperts,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::AllGather, 2); })},
      {"ResultsOfOwnExpertsAlone", kExperts,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::ReduceScatter); })},
      {"GradientsOfResultsNotGathered", kExperts,
       everywhere([](Program& p) { leave_out(p, "layer", Backward, CollectiveOp::AllGather, 0); })},
      {"GradientsOfTokensFromOwnExpertsAlone", kExperts, everywhere([](Program& p) {
         leave_out(p, "layer", Backward, CollectiveOp::ReduceScatter, 0);
       })},
      {"GradientsOfGatesFromOwnExpertsAlone", kExperts, everywhere([](Program& p) {
         leave_out(p, "layer", Backward, CollectiveOp::ReduceScatter, 1);
       })},
      {"ExpertsOfTheFirstRankEverywhere", kExperts, everywhere([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::order_routes).operands[1] =
             add_rank_value(p, "layer", {});
       })},
      {"ExpertsOfAnotherRank", kReplicated, everywhere([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::order_routes).operands[1] =
             add_rank_value(p, "layer", {p.mesh.find("dp")});
       })},
      {"GatesTakenForTheirGradients", kExperts, everywhere([](Program& p) {
         find_kernel(p, "layer", Backward, OpKind::combine).operands[4] =
             find_kernel(p, "layer", Backward, OpKind::expert_swiglu_grad).operands[1];
       })},
      {"RowsTakenInTheOrderOfTokens", kExperts, everywhere([](Program& p) {
         KernelInstruction& combine = find_kernel(p, "layer", Forward, OpKind::combine);
         combine.operands[2] = combine.operands[1];
       })},
      // In place: experts are thought to have as many rows as on the rank that has most.
      {"EndsOfAnotherRank", kData, everywhere([](Program& p) {
         const int ends = find_kernel(p, "layer", Forward, OpKind::order_routes).results[2];
         std::vector<Instruction>& forward = routine_of(p, "layer", Forward);
         const auto reader = std::ranges::find_if(forward, [](const Instruction& i) {
           const auto* kernel = i.as<KernelInstruction>();
           return kernel && kernel->op == OpKind::expert_matmul;
         });
         const CollectiveInstruction largest{.op = CollectiveOp::AllReduce,
                                             .group = group_over(p, {p.mesh.find("dp")}),
                                             .reduction = Reduction::Max,
                                             .input = ends,
                                             .output = ends};
         forward.insert(reader, {.what = largest, .phase = Phase::Forward});
       })},
      {"SumOverTheInsideOfExpertsLeftOut", kTensor,
       everywhere([](Program& p) { leave_out(p, "layer", Forward, CollectiveOp::AllReduce, 1); })},
  };
}

std::vector<Mutant> broken_layers_of_deepseek() {
  return {
      {"GroupsIgnoredByOneRank", kDeepSeek, on_rank_one([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::route).attributes.set("groups", int64_t{1});
       })},
      {"GatesOfOneRankNotScaled", kDeepSeek, on_rank_one([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::route).attributes.set("scale", 1.0);
       })},
      {"GradientsOfGatesNotScaled", kDeepSeek, everywhere([](Program& p) {
         find_kernel(p, "layer", Backward, OpKind::route_grad).attributes.set("scale", 1.0);
       })},
      {"SharedExpertReadsItsOwnResult", kDeepSeek, everywhere([](Program& p) {
         KernelInstruction& sum = find_kernel(p, "layer", Forward, OpKind::add);
         sum.operands[1] = sum.operands[0];
       })},
      {"GradientsOfTheDenseLayerNotSummed", kDeepSeek, everywhere([](Program& p) {
         leave_out(p, "dense_layer", Reduce, CollectiveOp::AllReduce);
       })},
  };
}

// The gradient of the rotated part of keys, which the heads of all ranks share.
CollectiveInstruction& find_sum_over_heads(Program& p) {
  for (int n = 0;; ++n) {  // throws where there is none
    const KernelInstruction& parts = find_kernel(p, "layer", Backward, OpKind::concat_grad, n);
    if (parts.attributes.integer("repeated") == 0) continue;
    for (int m = 0;; ++m)
      if (CollectiveInstruction& sum =
              find_collective(p, "layer", Backward, CollectiveOp::AllReduce, m);
          sum.input == parts.results[1])
        return sum;
  }
}

std::vector<Mutant> broken_latent_attention() {
  const PlanCase heads{.model = "DeepSeek", .axes = {{Tp, 2}}};
  return {
      {"GradientOfSharedKeysNotSummedOverHeads", heads,
       everywhere([](Program& p) { find_sum_over_heads(p).group = group_over(p, {}); })},
      {"RotatedPartOfKeysAlsoThatOfQueries", heads, everywhere([](Program& p) {
         const int of_queries = find_kernel(p, "layer", Forward, OpKind::rope, 0).results[0];
         find_kernel(p, "layer", Forward, OpKind::concat, 1).operands[1] = of_queries;
       })},
      {"ScoresOfOneRankNotSharpened", heads, on_rank_one([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::attention).attributes.set("scale", 0.0);
       })},
  };
}

const PlanCase kExchanged{.model = "Moe", .axes = {{Ep, 2}}, .exchange = true};
const PlanCase kExchangedBeside{.model = "Moe", .axes = {{Dp, 2}, {Ep, 2}}, .exchange = true};
const PlanCase kExchangedAfter{
    .model = "Moe", .axes = {{Ep, 2}}, .recompute = "block", .exchange = true};

// The wait for the n-th exchange of a routine goes; what fills its rows is still on its way.
void drop_wait(Program& p, RoutineKind routine, CollectiveOp op, int n) {
  const int filled = find_collective(p, "layer", routine, op, n).output;
  std::vector<Instruction>& all = routine_of(p, "layer", routine);
  const auto found = std::ranges::find_if(all, [&](const Instruction& i) {
    const auto* wait = i.as<WaitInstruction>();
    return wait && wait->held.front() == filled;
  });
  if (found == all.end()) throw NothingToBreak("no wait");
  const int read = found->as<WaitInstruction>()->output;
  *found = {.what = CopyInstruction{.input = filled, .output = read}, .phase = found->phase};
}

std::vector<Mutant> broken_exchanges() {
  const auto leaves_out = [](RoutineKind routine, CollectiveOp op, int n) {
    return everywhere([=](Program& p) { leave_out(p, "layer", routine, op, n); });
  };
  const auto goes = [](RoutineKind routine, CollectiveOp op, int n, CollectiveOp instead) {
    return everywhere(
        [=](Program& p) { find_collective(p, "layer", routine, op, n).op = instead; });
  };
  using enum CollectiveOp;
  return {
      {"RowsStayWithTheirTokens", kExchanged, leaves_out(Forward, PutRows, 0)},
      {"GatesStayWithTheirTokens", kExchanged, leaves_out(Forward, PutRows, 1)},
      {"ResultsStayWithTheirExperts", kExchanged, leaves_out(Forward, TakeRows, 0)},
      {"GradientsOfResultsStayWithTheirTokens", kExchanged, leaves_out(Backward, PutRows, 0)},
      {"GradientsOfTokensStayWithTheirExperts", kExchanged, leaves_out(Backward, TakeRows, 0)},
      {"GradientsOfGatesStayWithTheirExperts", kExchanged, leaves_out(Backward, TakeRows, 1)},
      {"RowsRebuiltWithoutAnExchange", kExchangedAfter, leaves_out(Backward, PutRows, 0)},
      {"RowsGoTheWayBack", kExchanged, goes(Forward, PutRows, 0, TakeRows)},
      {"ResultsGoTheWayThere", kExchanged, goes(Forward, TakeRows, 0, PutRows)},
      {"RowsOfAnotherGroup", kExchangedBeside, everywhere([](Program& p) {
         find_collective(p, "layer", Forward, PutRows).group = group_over(p, {p.mesh.find("dp")});
       })},
      {"EndsOfTheFirstRanksExperts", kExchanged, everywhere([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::pool_ends).operands[1] =
             add_rank_value(p, "layer", {});
       })},
      {"EndsOfOwnRowsAlone", kExchanged, everywhere([](Program& p) {
         KernelInstruction& matmul = find_kernel(p, "layer", Forward, OpKind::expert_matmul);
         matmul.operands[2] = find_kernel(p, "layer", Forward, OpKind::order_routes).results[2];
       })},
      {"RowsReadBeforeTheyAreThere", kExchanged,
       everywhere([](Program& p) { drop_wait(p, Forward, PutRows, 0); })},
      {"ResultsReadBeforeTheyAreThere", kExchanged,
       everywhere([](Program& p) { drop_wait(p, Forward, TakeRows, 0); })},
      {"AnExchangeOnOneRankAlone", kExchanged,
       on_rank_one([](Program& p) { leave_out(p, "layer", Forward, PutRows, 0); })},
  };
}

// Before the first kernel of an op.
void insert_before(std::vector<Instruction>& routine, OpKind op, const Instruction& added) {
  const auto found = std::ranges::find_if(routine, [&](const Instruction& i) {
    const auto* kernel = i.as<KernelInstruction>();
    return kernel && kernel->op == op;
  });
  if (found == routine.end()) throw NothingToBreak(std::string(name(op)));
  routine.insert(found, added);
}

std::vector<Mutant> broken_balance() {
  const PlanCase recomputed{
      .model = "Moe", .axes = {{Ep, 2}}, .microbatches = 3, .recompute = "block"};
  const PlanCase staged{.model = "Moe", .axes = {{Pp, 2}}, .microbatches = 2};
  return {
      {"BiasInTheGates", kData, everywhere([](Program& p) {
         const KernelInstruction route = find_kernel(p, "layer", Forward, OpKind::route);
         insert_before(
             routine_of(p, "layer", Forward), OpKind::route,
             {.what = KernelInstruction{.op = OpKind::bias_add,
                                        .operands = {route.operands[0], route.operands[1]},
                                        .results = {route.operands[0]}},
              .phase = Phase::Forward});
       })},
      {"LoadsOfOneRankAlone", kData,
       everywhere([](Program& p) { leave_out(p, "layer", ReduceTied, CollectiveOp::AllReduce); })},
      {"LoadsOfOneDataAxisAlone", kReplicated, everywhere([](Program& p) {
         find_collective(p, "layer", ReduceTied, CollectiveOp::AllReduce).group =
             group_over(p, {p.mesh.find("ep")});
       })},
      // The forward that runs again would count again.
      {"LoadsCountedTwiceWhereTheForwardIsRecomputed", recomputed, everywhere([](Program& p) {
         std::vector<Instruction>& backward = routine_of(p, "layer", Backward);
         for (Instruction& i : backward)
           if (auto* kernel = i.as<KernelInstruction>();
               kernel && kernel->op == OpKind::count_routes && !i.accumulators.empty()) {
             const Instruction again = i;
             backward.push_back(again);
             for (ScriptCall& call : calls_of(p))
               if (call.routine == Backward &&
                   &p.class_of(p.blocks[static_cast<size_t>(call.block)]).routine(Backward) ==
                       &backward)
                 call.accumulate.push_back(true);
             return;
           }
         throw NothingToBreak("counts");
       })},
      {"BiasOfOneLayerStays", staged,
       on_rank_one([](Program& p) { remove(p, "layer", Update, "balance_bias"); })},
      {"BiasFollowsTheLoads", kExperts, everywhere([](Program& p) {
         find_kernel(p, "layer", Update, OpKind::balance_bias).attributes.set("rate", -0.05);
       })},
      {"BalanceLossOfTheLastStageAlone", staged, everywhere([](Program& p) {
         leave_out(p, "stage_totals", MetricReduce, CollectiveOp::AllReduce);
       })},
  };
}

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all = broken_sums();
  for (const Mutant& mutant : broken_layers_of_deepseek()) all.push_back(mutant);
  for (const Mutant& mutant : broken_latent_attention()) all.push_back(mutant);
  for (const Mutant& mutant : broken_exchanges()) all.push_back(mutant);
  for (const Mutant& mutant : broken_balance()) all.push_back(mutant);
  for (const Mutant& mutant : broken_moves()) all.push_back(mutant);
  return all;
}

class ExpertMutantTest : public testing::TestWithParam<Mutant> {};

TEST_P(ExpertMutantTest, IsCaught) { expect_caught(GetParam(), DType::Fp64); }

INSTANTIATE_TEST_SUITE_P(Broken, ExpertMutantTest, testing::ValuesIn(all_mutants()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace tessera
