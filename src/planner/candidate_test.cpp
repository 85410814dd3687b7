// SPDX-License-Identifier: Apache-2.0
#include "planner/candidate.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "planner/enumerate.h"
#include "planner/knobs.h"
#include "planner/recipe.h"
#include "planner/testing/small_task.h"

namespace tessera {
namespace {

using enum AxisKind;

TEST(Candidate, ReadsBackAsItIsWritten) {
  Candidate candidate{.axes = {{Pp, 2}, {Fsdp, 4}, {Tp, 8}},
                      .microbatch = 2,
                      .zero = 1,
                      .recompute = RecomputeKind::Blocks,
                      .schedule = "interleaved_1f1b",
                      .chunks = 4};
  EXPECT_EQ(parse_candidate(to_string(candidate), {}), candidate);
  for (const int every : {0, 3}) {
    candidate.every = every;
    EXPECT_EQ(parse_candidate(to_string(candidate), {}), candidate) << to_string(candidate);
  }
  candidate = {.axes = {{Cp, 4}}, .recompute = RecomputeKind::Fit, .context = ContextKind::Ulysses};
  EXPECT_EQ(parse_candidate(to_string(candidate), {}), candidate);
  candidate = {.axes = {{Fsdp, 2}, {Cp, 4}},
               .zero = 3,
               .shards_over_cp = true,
               .offload_states = OffloadedStates::States,
               .offload_activations = true,
               .offload_gradients = true,
               .updates_on_host = true,
               .fp8 = true};
  EXPECT_EQ(to_string(candidate),
            "fsdp=2,cp=4 microbatch=1 shard_axes=fsdp+cp zero=3 recompute=none "
            "offload=states+gradients+activations offload_update=host precision=fp8");
  EXPECT_EQ(parse_candidate(to_string(candidate), {}), candidate);
}

TEST(Candidate, ExchangeReadsBackAndNeedsExpertsOnSeveralRanks) {
  const Candidate exchange{.axes = {{Ep, 8}}, .zero = 1, .dispatch = DispatchKind::Exchange};
  EXPECT_EQ(parse_candidate(to_string(exchange), {}), exchange);
  EXPECT_THROW(parse_candidate("ep=8,dispatch=some", {}), UserError);
  const PlanTask mixture = preset_task("qwen3-30b-a3b", 8, 8, 4096);
  EXPECT_FALSE(why_not_divisible(mixture, exchange));
  Candidate whole = exchange;
  whole.axes = {{Fsdp, 8}};
  EXPECT_EQ(why_not_divisible(mixture, whole)->reason,
            "dispatch = exchange, but ep (1) leaves every expert on every rank");
  EXPECT_EQ(why_not_divisible(preset_task("llama3-8b", 8, 8, 4096), whole)->reason,
            "dispatch = exchange, but the model has no experts");
}

TEST(Candidate, ItsDispatchIsThatOfThePlan) {
  const PlanTask task = preset_task("qwen3-30b-a3b", 8, 8, 4096);
  const Candidate exchange{.axes = {{Ep, 8}}, .zero = 1, .dispatch = DispatchKind::Exchange};
  EXPECT_EQ(task.with(exchange).plan.keys.dispatch, DispatchKind::Exchange);
  PlanTask fixed = task;
  fixed.fixed["plan.dispatch"] = "gather";
  EXPECT_FALSE(is_asked_for(fixed, exchange));
  EXPECT_TRUE(is_asked_for(task, exchange));
}

TEST(Candidate, MicrobatchesAreLargerWhereSamplesAreShort) {
  const auto largest = [](int64_t batch, int64_t seq) {
    return find_knob("microbatch")->values_for(preset_task("gpt2-124m", 8, batch, seq), {}).back();
  };
  EXPECT_EQ(largest(4096, 8192), "16");
  EXPECT_EQ(largest(4096, 1024), "128");
  EXPECT_EQ(largest(64, 1024), "64");  // no more than there are
  EXPECT_EQ(largest(1, 131072), "16");
}

TEST(Candidate, RingsAreTriedWhereTheyAreAskedForAndPiecesTravelBesideMatmuls) {
  PlanTask task = preset_task("llama3-8b", 8, 8, 4096);
  const Candidate rings{.axes = {{Tp, 8}}, .tp_overlap = TpOverlap::Ring};
  EXPECT_EQ(parse_candidate(to_string(rings), {}), rings);
  EXPECT_EQ(task.with(rings).plan.tp_overlap, TpOverlap::Ring);
  const auto values = [&](const Candidate& candidate) {
    return find_knob("tp_overlap")->values_for(task, candidate).size();
  };
  EXPECT_EQ(values(rings), 1);
  task.tries_rings = true;
  EXPECT_EQ(values(rings), 2);
  EXPECT_EQ(values({.axes = {{Fsdp, 8}}}), 1);
  task.cluster.moves_in_wait = true;
  EXPECT_EQ(values(rings), 1);
}

TEST(Candidate, EveryKnobThatAUserFixesIsKept) {
  const PlanTask task = preset_task("llama3-8b", 8, 8, 4096);
  const Candidate candidate{.axes = {{Fsdp, 4}, {Cp, 2}}, .zero = 2, .shards_over_cp = true};
  for (const auto& [key, value, kept] : {std::tuple("plan.zero", "2", true),
                                         {"plan.zero", "3", false},
                                         {"plan.shard_axes", "fsdp,cp", true},
                                         {"plan.context", "ulysses", false},
                                         {"plan.schedule", "zb_h1", true},  // without a pipeline
                                         {"plan.offload", "moments", false},
                                         {"train.microbatches", "2", true},
                                         {"train.microbatches", "4", false}}) {
    PlanTask fixed = task;
    fixed.fixed = {{key, value}};
    EXPECT_EQ(is_asked_for(fixed, candidate), kept) << key << " = " << value;
  }
}

TEST(Enumeration, OffloadNeedsAHostAndSomethingToKeepThere) {
  PlanTask task = preset_task("llama3-8b", 8, 8, 4096);
  Candidate candidate{
      .axes = {{Fsdp, 8}}, .zero = 1, .offload_states = OffloadedStates::Parameters};
  EXPECT_EQ(why_not_divisible(task, candidate)->reason,
            "offload = parameters needs zero = 3, not 1");
  candidate.zero = 3;
  EXPECT_FALSE(why_not_divisible(task, candidate));
  task.cluster.host.reset();
  EXPECT_EQ(why_not_divisible(task, candidate)->reason,
            "cluster dgx-h100 has no [host], whose link offload needs");
}

TEST(Candidate, KeepsTheKnobsThatAreNotNamedButNoAxis) {
  const Candidate base{
      .axes = {{Pp, 2}, {Tp, 4}}, .microbatch = 2, .recompute = RecomputeKind::Blocks};
  const Candidate candidate = parse_candidate("mesh=tp=2 recompute=attention", base);
  EXPECT_EQ(candidate.pp(), 1);
  EXPECT_EQ(candidate.tp(), 2);
  EXPECT_EQ(candidate.microbatch, 2);
  EXPECT_EQ(candidate.recompute, RecomputeKind::Attention);
  EXPECT_THROW(parse_candidate("tp=2,recompute=some", base), UserError);
}

TEST(Enumeration, SaysWhichSizesDoNotDivide) {
  const PlanTask task = preset_task("llama3-8b", 8, 8, 2048);
  EXPECT_EQ(why_not_divisible(task, {.axes = {{Dp, 4}}})->reason, "mesh dp=4 has 4 ranks, not 8");
  const auto batch = why_not_divisible(task, {.axes = {{Fsdp, 8}}, .microbatch = 2, .zero = 3});
  EXPECT_EQ(batch->obstacle, Obstacle::Batch);
  EXPECT_EQ(batch->reason, "microbatch x fsdp (2 x 8 = 16) does not divide the batch (8)");
  EXPECT_FALSE(why_not_divisible(task, {.axes = {{Fsdp, 8}}, .zero = 3}));
}

TEST(Enumeration, HasAllAxesAndOnlyWhatDivides) {
  const PlanTask task = preset_task("llama3-8b", 8, 64, 4096);
  const Enumeration all = enumerate(task);
  bool dp = false, fsdp = false, cp = false, tp = false, pp = false;
  for (const Candidate& candidate : all.possible) {
    ASSERT_FALSE(why_not_divisible(task, candidate)) << to_string(candidate);
    dp |= candidate.axes[AxisKind::Dp] == 8;
    fsdp |= candidate.fsdp() == 8;
    cp |= candidate.cp() == 4;
    tp |= candidate.tp() == 8;
    pp |= candidate.pp() == 8;
  }
  EXPECT_TRUE(dp && fsdp && cp && tp && pp);
  EXPECT_GT(all.dropped.at(Obstacle::Batch), 0);
}

// Each limit holds at its own number and not at the one beside it.
TEST(Enumeration, HasItsLimitsWhereItSaysTheyAre) {
  const auto obstacle = [](int64_t batch, const Candidate& candidate) -> std::string_view {
    const PlanTask task = preset_task("llama3-8b", candidate.axes.ranks(), batch, 8192);
    const auto why = why_not_divisible(task, candidate);
    return why ? name(why->obstacle) : "";
  };
  EXPECT_EQ(obstacle(1, {.axes = {{Tp, 8}}}), "");  // a node
  EXPECT_EQ(obstacle(1, {.axes = {{Tp, 16}}}), "tp");
  EXPECT_EQ(obstacle(1, {.axes = {{Cp, 8}}}), "");  // 1024 tokens to a rank
  EXPECT_EQ(obstacle(1, {.axes = {{Cp, 16}}}), "cp");
  EXPECT_EQ(obstacle(8, {.axes = {{Pp, 8}}}), "");  // as many microbatches as stages
  EXPECT_EQ(obstacle(7, {.axes = {{Pp, 8}}}), "pp");
  EXPECT_EQ(obstacle(34, {.axes = {{Pp, 34}}}), "");  // 32 layers, embedding and head
  EXPECT_EQ(obstacle(35, {.axes = {{Pp, 35}}}), "pp");
  EXPECT_EQ(obstacle(7, {.axes = {{Pp, 4}}, .schedule = "zb_h2"}), "");
  EXPECT_EQ(obstacle(6, {.axes = {{Pp, 4}}, .schedule = "zb_h2"}), "pp");
  EXPECT_EQ(obstacle(8, {.axes = {{Pp, 4}}, .schedule = "interleaved_1f1b", .chunks = 2}), "");
  EXPECT_EQ(obstacle(6, {.axes = {{Pp, 4}}, .schedule = "interleaved_1f1b", .chunks = 2}), "pp");
  EXPECT_EQ(obstacle(1024, {}), "");  // microbatches
  EXPECT_EQ(obstacle(1025, {}), "batch");
  // Microbatches: 16 samples, and more where these are below 131,072 tokens.
  for (const auto& [tokens, most] : {std::pair(8192, 16), {2048, 64}}) {
    int64_t largest = 0;
    for (const Candidate& candidate : enumerate(preset_task("llama3-8b", 2, 64, tokens)).possible)
      largest = std::max(largest, candidate.microbatch);
    EXPECT_EQ(largest, most) << tokens;
  }
}

TEST(Recipe, GrowsFromDataParallelToAllAxes) {
  const auto first = [](std::string_view preset, int ranks, int64_t seq, double parameters) {
    return make_recipe(preset_task(preset, ranks, ranks, seq), parameters).candidates.front();
  };
  EXPECT_EQ(first("gpt2-124m", 64, 1024, 124e6), (Candidate{.axes = {{Dp, 64}}}));
  EXPECT_EQ(first("llama3-8b", 64, 8192, 8e9), (Candidate{.axes = {{Fsdp, 64}}, .zero = 3}));
  EXPECT_EQ(first("llama3-8b", 256, 8192, 8e9),
            (Candidate{.axes = {{Dp, 32}, {Fsdp, 8}}, .zero = 3}));
  EXPECT_EQ(first("llama3-70b", 512, 8192, 70e9),
            (Candidate{.axes = {{Fsdp, 64}, {Tp, 8}}, .zero = 1}));
  EXPECT_EQ(first("llama3-8b", 64, 32768, 8e9),
            (Candidate{.axes = {{Fsdp, 2}, {Cp, 4}, {Tp, 8}}, .zero = 1}));
}

TEST(Recipe, SaysWhatDoesNotDivide) {
  const Recipe recipe = make_recipe(preset_task("llama3-8b", 64, 96, 8192), 8e9);
  EXPECT_TRUE(recipe.candidates.empty());
  EXPECT_EQ(recipe.indivisible,
            "fsdp=64 microbatch=1 zero=3 recompute=none: microbatch x fsdp (1 x 64 = 64) "
            "does not divide the batch (96)");
}

}  // namespace
}  // namespace tessera
