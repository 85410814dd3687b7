// SPDX-License-Identifier: Apache-2.0
// Programs with adapters and frozen weights, broken on purpose: what is frozen must stay, and what
// an adapter adds must be scaled, summed and put where it belongs.
#include <gtest/gtest.h>

#include "ir/op_list.h"
#include "mutant.h"
#include "studio/lessons/break_program.h"

namespace tessera {
namespace {

using enum AxisKind;
using enum RoutineKind;

const PlanCase kData{.model = "Llama", .axes = {{Dp, 2}}, .lora_rank = 3};
const PlanCase kTensor{.model = "Llama", .axes = {{Tp, 2}}, .lora_rank = 3};
const PlanCase kSharded{
    .model = "Llama", .axes = {{Fsdp, 2}}, .zero = 3, .microbatches = 2, .lora_rank = 3};
const PlanCase kPipeline{.model = "Llama", .axes = {{Pp, 2}}, .microbatches = 2, .lora_rank = 3};

// The update also multiplies that weight by a number next to 1.
void update_frozen(Program& p, std::string_view weight) {
  const int buffer = buffer_of(p, "layer", weight);
  routine_of(p, "layer", Update)
      .push_back({.what = KernelInstruction{.op = OpKind::scale,
                                            .attributes = {{"factor", 1.0001}},
                                            .operands = {buffer},
                                            .results = {buffer}},
                  .phase = Phase::Update});
}

std::vector<Mutant> broken_adapters() {
  return {
      {"FrozenWeightsUpdated", kData, everywhere([](Program& p) { update_frozen(p, "wq"); })},
      {"FrozenWeightsUpdatedOnOneRank", kData,
       on_rank_one([](Program& p) { update_frozen(p, "down"); })},
      {"FrozenNormUpdated", kPipeline,
       everywhere([](Program& p) { update_frozen(p, "mlp_norm"); })},
      {"GradientsOfAdaptersNotSummed", kData,
       everywhere([](Program& p) { leave_out(p, "layer", Reduce, CollectiveOp::AllReduce); })},
      {"AdapterNotScaled", kData, everywhere([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::scale).attributes.set("factor", 1.0);
       })},
      {"GradientOfAnAdapterNotScaled", kData, everywhere([](Program& p) {
         find_kernel(p, "layer", Backward, OpKind::scale).attributes.set("factor", 1.0);
       })},
      {"SumOfANarrowProductLeftOut", kTensor, everywhere([](Program& p) {
         leave_out_on(p, "layer", Forward, CollectiveOp::AllReduce, "down_lora_scaled");
       })},
      {"TheGatesAdapterAddedToUp", kData, everywhere([](Program& p) {
         find_kernel(p, "layer", Forward, OpKind::add_part).attributes.set("index", int64_t{1});
       })},
      {"TheGatesGradientTakenFromUp", kData, everywhere([](Program& p) {
         for (int n = 0;; ++n) {
           KernelInstruction& part = find_kernel(p, "layer", Backward, OpKind::take_part, n);
           if (part.attributes.integer("index") != 0) continue;
           part.attributes.set("index", int64_t{1});
           return;
         }
       })},
      {"FrozenShardsNotGathered", kSharded, everywhere([](Program& p) {
         leave_out_on(p, "layer", Gather, CollectiveOp::AllGather, "frozen0.weights_shard");
       })},
      {"NormOfAStageThatCountsNothingLeftOut", kPipeline,
       everywhere([](Program& p) { remove(p, "norm_total", NormReduce, "all_reduce"); })},
  };
}

class LoraMutantTest : public testing::TestWithParam<std::tuple<Mutant, DType>> {};

TEST_P(LoraMutantTest, IsCaught) {
  const auto& [mutant, precision] = GetParam();
  expect_caught(mutant, precision);
}

INSTANTIATE_TEST_SUITE_P(Broken, LoraMutantTest,
                         testing::Combine(testing::ValuesIn(broken_adapters()),
                                          testing::Values(DType::Fp64)),
                         [](const auto& instance) {
                           return fmt::format("{}_{}", std::get<0>(instance.param).name,
                                              name(std::get<1>(instance.param)));
                         });

}  // namespace
}  // namespace tessera
