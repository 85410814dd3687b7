// SPDX-License-Identifier: Apache-2.0
// The floors' promise is tested on every candidate of small tasks: there the search can be compared
// with one that simulates everything.
#include "planner/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/knobs.h"
#include "planner/testing/small_task.h"

namespace tessera {
namespace {

using enum AxisKind;

struct SmallCase {
  int ranks;
  int64_t batch;
  double memory_bytes;
};
class SmallSearch : public testing::TestWithParam<SmallCase> {};

void expect_floors_hold(const PlanTask& task, const std::vector<Trial>& trials) {
  Floors floors(task);
  for (const Trial& trial : trials) {
    ASSERT_EQ(trial.refused, "") << to_string(trial.candidate);
    const Candidate& own = trial.candidate;
    for (const Floor& floor :
         {floors.first(own), floors.quick(own), floors.loose(own), floors.scheduled(own)}) {
      if (trial.fits) {
        EXPECT_LE(floor.seconds, trial.simulation.step_seconds) << to_string(trial.candidate);
      }
      EXPECT_LE(floor.bytes, static_cast<double>(trial.simulation.peak_bytes))
          << to_string(trial.candidate);
    }
  }
}

TEST_P(SmallSearch, RanksAsIfEverythingWereSimulatedAndFloorsAreNeverAboveIt) {
  const auto [ranks, batch, memory_bytes] = GetParam();
  const PlanTask task = small_task(ranks, batch, memory_bytes);
  const SearchResult all = search(task, {.most_trials = 1 << 20, .use_floors = false});
  expect_floors_hold(task, all.ranked);
  expect_floors_hold(task, all.dropped);
  const SearchResult found = search(task, {});
  ASSERT_GE(all.ranked.size(), kRankedPlans);
  ASSERT_GE(found.ranked.size(), kRankedPlans);
  for (size_t i = 0; i < kRankedPlans; ++i) {
    EXPECT_EQ(to_string(found.ranked[i].candidate), to_string(all.ranked[i].candidate));
    EXPECT_EQ(found.ranked[i].simulation.step_seconds, all.ranked[i].simulation.step_seconds);
  }
  EXPECT_FALSE(found.floor_left_seconds);
  const size_t trials = found.ranked.size() + found.dropped.size();
  EXPECT_LT(trials, (all.ranked.size() + all.dropped.size()) / 2);
}

// Memory for all; for some that rebuild nothing; for few.
INSTANTIATE_TEST_SUITE_P(Memory, SmallSearch,
                         testing::Values(SmallCase{4, 4, 1e9}, SmallCase{4, 4, 5e7},
                                         SmallCase{2, 8, 4e7}));

// Of a mixture: ep, folding and both ways to dispatch are among the candidates.
TEST(Search, RanksMixturesAsIfEverythingWereSimulated) {
  const PlanTask task = small_task(4, 4, 1e9, "tiny-moe");
  const SearchResult all = search(task, {.most_trials = 1 << 20, .use_floors = false});
  expect_floors_hold(task, all.ranked);
  const SearchResult found = search(task, {});
  ASSERT_GE(found.ranked.size(), kRankedPlans);
  for (size_t i = 0; i < kRankedPlans; ++i)
    EXPECT_EQ(found.ranked[i].simulation.step_seconds, all.ranked[i].simulation.step_seconds);
  const auto any = [&](auto&& matches) {
    return std::any_of(all.ranked.begin(), all.ranked.end(),
                       [&](const Trial& trial) { return matches(trial.candidate); });
  };
  EXPECT_TRUE(any([](const Candidate& c) { return c.dispatch == DispatchKind::Exchange; }));
  EXPECT_TRUE(
      any([](const Candidate& c) { return c.ep() > 1 && c.dispatch == DispatchKind::Gather; }));
  EXPECT_TRUE(any([](const Candidate& c) {
    return c.experts == "ep+tp" && c.dispatch == DispatchKind::Exchange;
  }));
}

// There a group's bandwidth depends on where its members are: eight ranks on a torus of 2 x 4, and
// with links of each to each.
TEST(Search, FloorsHoldWhereLinksDependOnThePlace) {
  for (const bool torus : {true, false}) {
    PlanTask task = small_task(8, 8, 1e9);
    Level& inner = task.cluster.levels.front();
    inner.ranks = 8;
    inner.fully_connected = !torus;
    if (torus) inner.torus = {2, 4};
    const SearchResult all = search(task, {.most_trials = 1 << 20, .use_floors = false});
    expect_floors_hold(task, all.ranked);
    const SearchResult found = search(task, {});
    ASSERT_GE(found.ranked.size(), kRankedPlans);
    for (size_t i = 0; i < kRankedPlans; ++i)
      EXPECT_EQ(found.ranked[i].simulation.step_seconds, all.ranked[i].simulation.step_seconds);
  }
}

TEST(Search, RebuildsJustEnoughWhereNothingRebuiltDoesNotFit) {
  const SearchResult found = search(small_task(2, 8, 4e7), {});
  const auto fits = [](const Trial& trial) {
    return trial.candidate.recompute == RecomputeKind::Fit;
  };
  EXPECT_TRUE(std::any_of(found.ranked.begin(), found.ranked.end(), fits));
}

TEST(Search, KeepsFewerCheckpointsWhereOnePerBlockDoesNotFit) {
  PlanTask task = small_task(1, 1, 1e12);
  task.run.model.layers = 400;
  const auto peak_bytes = [&](int every) {
    return try_candidate(task, {{.recompute = RecomputeKind::Blocks, .every = every}})
        .simulation.peak_bytes;
  };
  const int64_t each = peak_bytes(1), fewer = peak_bytes(0);
  ASSERT_LT(fewer, each);
  task.cluster.device.memory_bytes.value = static_cast<double>(fewer + each) / 2;
  const SearchResult found = search(task, {.most_trials = 1 << 20, .use_floors = false});
  EXPECT_TRUE(std::any_of(found.ranked.begin(), found.ranked.end(), [](const Trial& trial) {
    return trial.candidate.recompute == RecomputeKind::Blocks && trial.candidate.every == 0;
  }));
}

TEST(Search, IsNeverWorseThanTheRuleOfThumb) {
  const SearchResult found = search(small_task(8, 16, 1e9), {.most_trials = 4});
  ASSERT_TRUE(found.recipe);
  EXPECT_LE(found.ranked.front().simulation.step_seconds, found.recipe->simulation.step_seconds);
  EXPECT_TRUE(found.floor_left_seconds);
}

TEST(Search, LeavesTheKnobsThatAUserHasTurned) {
  PlanTask task = small_task(4, 16, 1e9);
  task.fixed = {{"plan.zero", "2"},
                {"train.microbatches", "4"},
                {"plan.recompute", "cheap"},
                {"plan.schedule", "gpipe"}};
  const SearchResult found = search(task, {});
  bool pipelined = false;
  ASSERT_FALSE(found.ranked.empty());
  for (const Trial& trial : found.ranked) {
    const Candidate& candidate = trial.candidate;
    EXPECT_EQ(candidate.zero, 2);
    EXPECT_EQ(candidate.microbatches(task.run.batch()), 4);
    EXPECT_EQ(candidate.recompute, RecomputeKind::Cheap);
    EXPECT_EQ(candidate.schedule, candidate.pp() > 1 ? "gpipe" : "1f1b");
    pipelined = pipelined || candidate.pp() > 1;
  }
  EXPECT_TRUE(pipelined);
}

TEST(Search, GivesTheSameForAnyNumberOfThreads) {
  const PlanTask task = small_task(4, 4, 5e7);
  const SearchResult one = search(task, {.threads = 1}), three = search(task, {.threads = 3});
  ASSERT_EQ(one.ranked.size(), three.ranked.size());
  for (size_t i = 0; i < one.ranked.size(); ++i)
    EXPECT_EQ(one.ranked[i].candidate, three.ranked[i].candidate);
}

// States and activations leave where less memory would fit no plan.
TEST(Search, RanksPlansThatOffloadAsIfEverythingWereSimulated) {
  PlanTask task = small_task(2, 8, 2.2e7);
  task.tries_offload = true;
  const SearchResult all = search(task, {.most_trials = 1 << 20, .use_floors = false});
  expect_floors_hold(task, all.ranked);
  expect_floors_hold(task, all.dropped);
  const SearchResult found = search(task, {});
  ASSERT_FALSE(found.ranked.empty());
  for (size_t i = 0; i < std::min(kRankedPlans, all.ranked.size()); ++i)
    EXPECT_EQ(found.ranked[i].simulation.step_seconds, all.ranked[i].simulation.step_seconds);
  const auto any = [&](auto&& matches) {
    return std::ranges::any_of(all.ranked,
                               [&](const Trial& trial) { return matches(trial.candidate); });
  };
  EXPECT_TRUE(any([](const Candidate& c) { return c.offload_states != OffloadedStates::None; }));
  EXPECT_TRUE(any([](const Candidate& c) { return c.offload_activations; }));
  EXPECT_TRUE(any([](const Candidate& c) { return c.updates_on_host; }));
}

TEST(Search, OffloadsUnaskedOnlyWhereNothingElseFits) {
  const auto offloads = [](const Trial& trial) {
    return trial.candidate.offload_activations ||
           trial.candidate.offload_states != OffloadedStates::None;
  };
  PlanTask task = small_task(1, 4, 1e9);
  EXPECT_TRUE(std::ranges::none_of(search(task, {}).ranked, offloads));
  double least = 1e9;
  for (const Trial& trial : search(task, {.most_trials = 1 << 20, .use_floors = false}).ranked)
    least = std::min(least, static_cast<double>(trial.simulation.peak_bytes));
  task.cluster.device.memory_bytes.value = 0.8 * least;
  const SearchResult small = search(task, {});
  ASSERT_FALSE(small.ranked.empty());
  EXPECT_TRUE(std::ranges::all_of(small.ranked, offloads));
  task.cluster.host.reset();
  EXPECT_TRUE(search(task, {}).ranked.empty());
}

// Rings over cp hold the same parameters, whose states may rest in shards over them, too.
TEST(Search, ShardsStatesOverCpToo) {
  PlanTask task = small_task(4, 4, 1e9);
  task.fixed = {{"plan.shard_axes", "fsdp,cp"}};
  const SearchResult all = search(task, {.most_trials = 1 << 20, .use_floors = false});
  expect_floors_hold(task, all.ranked);
  const auto over_cp = [](const Trial& trial) {
    return trial.candidate.shards_over_cp && trial.candidate.fsdp() == 2;
  };
  ASSERT_TRUE(std::ranges::any_of(all.ranked, over_cp));
  for (const Trial& trial : all.ranked)
    EXPECT_EQ(trial.candidate.shards_over_cp, trial.candidate.cp() > 1);
}

TEST(Search, StaysBelowWhatADeviceCanUse) {
  PlanTask task = small_task(2, 8, 1e9);
  const int64_t most = search(task, {}).ranked.front().simulation.peak_bytes;
  task.cluster.device.memory_bytes.value = static_cast<double>(most);
  task.cluster.device.reserve_bytes.value = 1;
  EXPECT_EQ(task.rank_memory_bytes(), most - 1);
  for (const Trial& trial : search(task, {}).ranked) EXPECT_LT(trial.simulation.peak_bytes, most);
  task.memory_bytes = most;  // as a user gives it
  EXPECT_EQ(search(task, {}).ranked.front().simulation.peak_bytes, most);
}

TEST(Search, TriesEightBitsOnlyWhereTheUserAllowsThem) {
  PlanTask task = preset_task("llama3-8b", 8, 8, 8192);
  task.fixed = {{"plan.recompute", "block"}, {"plan.zero", "3"}, {"train.microbatches", "1"}};
  const auto eight_bits = [](const Trial& trial) { return trial.candidate.fp8; };
  EXPECT_TRUE(std::ranges::none_of(search(task, {}).ranked, eight_bits));
  task.tries_fp8 = true;
  const Trial best = search(task, {}).ranked.front();
  EXPECT_TRUE(best.candidate.fp8);
  EXPECT_EQ(find_knob("precision")->setting_of(task, best.candidate), "fp8");
}

TEST(Search, AnFp8TaskIsSimulatedInFp8) {
  PlanTask task = preset_task("llama3-8b", 8, 8, 8192);
  const Attempt attempt{
      .candidate = {.axes = {{Fsdp, 8}}, .zero = 3, .recompute = RecomputeKind::Blocks}};
  const Trial bf16 = try_candidate(task, attempt);
  task.run.precision = Precision(DType::Bf16, false, true);
  const Trial fp8 = try_candidate(task, attempt);
  ASSERT_TRUE(bf16.fits && fp8.fits);
  EXPECT_GT(bf16.simulation.step_seconds, 1.1 * fp8.simulation.step_seconds);
}

}  // namespace
}  // namespace tessera
