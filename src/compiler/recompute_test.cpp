// SPDX-License-Identifier: Apache-2.0
// What a compiled step runs again in its backward, by plan.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "exec/testing/small_models.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

constexpr int64_t kSeq = 512;  // of which a value costs attention more than a product

constexpr double kFastLink = 1e-3, kNoLink = 1e12;  // flops while it moves a byte

Program llama(Recompute recompute, const std::vector<Axis>& mesh = {}, int64_t memory = 0,
              bool offload = false, double link = kFastLink) {
  SmallModel model = small_model("Llama");
  model.config.context = model.seq = kSeq;
  const PlanSizes sizes{.kv_heads = model.config.kv_heads, .heads = model.config.heads};
  return compile(model.build(DType::Fp32, 1),
                 {.plan = make_plan(
                      {.mesh = mesh, .recompute = recompute, .offload = {.activations = offload}},
                      sizes),
                  .profile = {.threads = 1, .memory_bytes = memory, .flops_per_host_byte = link}})
      .program();
}

const std::vector<Instruction>& routine(const Program& program, std::string_view name,
                                        RoutineKind kind) {
  const auto found = std::find_if(program.classes.begin(), program.classes.end(),
                                  [&](const ProgramClass& each) { return each.name == name; });
  return found->routine(kind);
}

auto kernels(const Program& program, RoutineKind kind, OpKind op) {
  return std::ranges::count_if(routine(program, "layer", kind), [&](const Instruction& each) {
    const auto* kernel = std::get_if<KernelInstruction>(&each.what);
    return kernel && kernel->op == op;
  });
}

auto collectives(const Program& program, RoutineKind kind) {
  return std::ranges::count_if(routine(program, "layer", kind), [](const Instruction& each) {
    return std::holds_alternative<CollectiveInstruction>(each.what);
  });
}

TEST(Recompute, KeepingAttentionRunsFiveProductsAgainAndNoHopOfARing) {
  for (const auto& mesh : {std::vector<Axis>{}, std::vector<Axis>{{"cp", 2}}}) {
    const Program none = llama({}, mesh),
                  kept = llama({.kind = RecomputeKind::KeepAttention}, mesh);
    const auto again = [&](OpKind op) {
      return kernels(kept, RoutineKind::Backward, op) - kernels(none, RoutineKind::Backward, op);
    };
    EXPECT_EQ(again(OpKind::matmul), 5);  // q, k, v, the output's, and gate and up
    EXPECT_EQ(again(OpKind::attention), 0);
    EXPECT_EQ(again(OpKind::merge_attention), 0);
    EXPECT_EQ(collectives(kept, RoutineKind::Backward), collectives(none, RoutineKind::Backward));
    EXPECT_LT(kept.slot_bytes, none.slot_bytes / 2);
  }
}

TEST(Recompute, ABlockRebuiltAloneLeavesOutWhatTheBackwardDoesNotRead) {
  const Program alone = llama({.kind = RecomputeKind::Blocks, .every = 1}),
                together = llama({.kind = RecomputeKind::Blocks, .every = 2});
  EXPECT_TRUE(routine(alone, "embedding", RoutineKind::Recompute).empty());
  EXPECT_FALSE(routine(together, "embedding", RoutineKind::Recompute).empty());
  const auto left_out = [](const Program& program) {
    return kernels(program, RoutineKind::Forward, OpKind::matmul) -
           kernels(program, RoutineKind::Recompute, OpKind::matmul);
  };
  EXPECT_EQ(left_out(alone), 1);  // the last product, with the residual stream
  EXPECT_EQ(left_out(together), 0);
}

TEST(Recompute, LongSequencesAreMadeToFitWithoutRunningAttentionAgain) {
  const int64_t enough = llama({.kind = RecomputeKind::KeepAttention}).peak_bytes();
  const Program fit = llama({.kind = RecomputeKind::Fit}, {}, enough);
  EXPECT_LE(fit.peak_bytes(), enough);
  EXPECT_GT(kernels(fit, RoutineKind::Backward, OpKind::matmul),
            kernels(llama({}), RoutineKind::Backward, OpKind::matmul));
  EXPECT_EQ(kernels(fit, RoutineKind::Backward, OpKind::attention), 0);
}

// What fits as it is stays; then values go to the host, and only then some are recomputed.
TEST(Recompute, ActivationsGoToTheHostBeforeAnyIsRecomputed) {
  const auto fit = [](int64_t memory) {
    return llama({.kind = RecomputeKind::Fit}, {}, memory, true);
  };
  const auto in_backward = [](const Program& program) {
    return routine(program, "layer", RoutineKind::Backward).size();
  };
  const Program none = llama({}), all = llama({}, {}, 0, true);
  ASSERT_LT(all.peak_bytes(), none.peak_bytes());
  EXPECT_EQ(fit(none.peak_bytes()).host_bytes(), 0);
  const Program some = fit(none.peak_bytes() - 1);
  EXPECT_LT(some.peak_bytes(), none.peak_bytes());
  EXPECT_GT(some.host_bytes(), 0);
  EXPECT_LT(some.host_bytes(), all.host_bytes());
  EXPECT_EQ(in_backward(some), in_backward(none));
  const Program less = fit(all.peak_bytes() - 1);
  EXPECT_LT(less.peak_bytes(), all.peak_bytes());
  EXPECT_GT(in_backward(less), in_backward(none));
}

// As if nothing might go there, as long as something is left to recompute.
TEST(Recompute, NothingGoesToAHostThatIsFurtherThanAllWork) {
  const int64_t enough = llama({.kind = RecomputeKind::KeepAttention}).peak_bytes();
  const Program fit = llama({.kind = RecomputeKind::Fit}, {}, enough, true, kNoLink);
  EXPECT_LE(fit.peak_bytes(), enough);
  EXPECT_EQ(fit.host_bytes(), 0);
  EXPECT_EQ(fit.slot_bytes, llama({.kind = RecomputeKind::Fit}, {}, enough).slot_bytes);
}

// A link that moves part of what a block keeps while it computes: that part goes, the rest is
// recomputed where that costs less than a copy that is waited for, and goes, too, where not.
TEST(Recompute, EachValueIsMovedOrRecomputedByWhatCostsLess) {
  const auto fit = [](int64_t memory, double link) {
    return llama({.kind = RecomputeKind::Fit}, {}, memory, true, link);
  };
  const auto in_backward = [](const Program& program) {
    return routine(program, "layer", RoutineKind::Backward).size();
  };
  const Program none = llama({}), all = llama({}, {}, 0, true);
  const Program fast = fit(all.peak_bytes(), kFastLink);
  EXPECT_EQ(in_backward(fast), in_backward(none));
  int64_t before = fast.host_bytes();
  bool both = false;
  for (const double link : {100.0, 300.0, 1000.0, 3000.0}) {
    const Program some = fit(all.peak_bytes(), link);
    EXPECT_LE(some.peak_bytes(), all.peak_bytes());
    EXPECT_LE(some.host_bytes(), before) << link;
    before = some.host_bytes();
    both = both || (some.host_bytes() > 0 && in_backward(some) > in_backward(none));
  }
  EXPECT_TRUE(both);
}

}  // namespace
}  // namespace tessera
