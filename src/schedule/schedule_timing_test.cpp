// SPDX-License-Identifier: Apache-2.0
// Compares idle time and peak activations with the closed forms of the papers, exactly. p ranks, m
// microbatches, v chunks; F, B, W are sums over all chunks of a rank.
#include "schedule/schedule_timing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

constexpr StageCosts kCosts[] = {{1, 1, 1}, {2, 3, 1}, {3, 2, 1}, {2, 1, 2},
                                 {5, 1, 2}, {1, 2, 1}, {4, 4, 3}, {1, 3, 2}};

double whole(const StageCosts& costs) {
  return costs.forward + costs.input_grad + costs.weight_grad;
}

struct Form {
  const char* kind;
  std::vector<int> chunks;
  int (*least_microbatches)(int p);
  bool (*holds)(int p, int m, const StageCosts& costs);
  double (*idle)(int p, int v, const StageCosts& costs);
  double (*worst_peak)(int p, int v, int m);
};

// For W > F the first rank of zb_h1 or zb_h2 waits longer for its first gradient than any order
// could fill within the peak: p F + (p - 1) B pass, and it has only forwards to run.
const Form kForms[] = {
    {"gpipe",
     {1},
     [](int p) { return p; },
     [](int, int, const StageCosts&) { return true; },
     [](int p, int, const StageCosts& c) { return (p - 1) * whole(c); },
     [](int, int, int m) { return static_cast<double>(m); }},
    {"1f1b",
     {1},
     [](int p) { return p; },
     [](int, int, const StageCosts&) { return true; },
     [](int p, int, const StageCosts& c) { return (p - 1) * whole(c); },
     [](int p, int, int) { return static_cast<double>(p); }},
    {"interleaved_1f1b",
     {1, 2, 3, 4},
     [](int p) { return p; },
     [](int p, int m, const StageCosts&) { return m % p == 0; },
     [](int p, int v, const StageCosts& c) { return (p - 1) * whole(c) / v; },
     // p (1 + (p - 1) / (p v)), but never more than there are microbatches.
     [](int p, int v, int m) {
       return std::min<double>(m, (p * v + p - 1) / static_cast<double>(v));
     }},
    {"looped_bfs",
     {1, 2, 3, 4},
     [](int p) { return p; },
     [](int, int, const StageCosts&) { return true; },
     [](int p, int v, const StageCosts& c) { return (p - 1) * whole(c) / v; },
     [](int, int, int m) { return static_cast<double>(m); }},
    {"zb_h1",
     {1},
     [](int p) { return p; },
     [](int, int, const StageCosts& c) { return c.weight_grad <= c.forward; },
     [](int p, int, const StageCosts& c) {
       return (p - 1) * (c.forward + c.input_grad - c.weight_grad);
     },
     [](int p, int, int) { return static_cast<double>(p); }},
    {"zb_h2",
     {1},
     [](int p) { return 2 * p - 1; },
     [](int, int, const StageCosts& c) {
       return c.weight_grad <= c.forward && c.forward + c.input_grad >= 2 * c.weight_grad;
     },
     [](int p, int, const StageCosts& c) {
       return (p - 1) * (c.forward + c.input_grad - 2 * c.weight_grad);
     },
     [](int p, int, int) { return 2.0 * p - 1; }},
    {"zb_v",
     {2},
     [](int p) { return 2 * p - 1; },
     [](int, int, const StageCosts& c) {
       return c.forward == c.input_grad && c.forward == c.weight_grad;
     },
     [](int, int, const StageCosts&) { return 0.0; },
     [](int p, int, int) { return static_cast<double>(p); }},
};

double worst_peak(const ScheduleTiming& timing) {
  double worst = 0;
  for (const RankTiming& rank : timing.ranks) worst = std::max(worst, rank.peak_activations);
  return worst;
}

TEST(ScheduleTiming, IdleTimeAndPeakEqualTheClosedForms) {
  int checked = 0;
  for (const Form& form : kForms)
    for (const StageCosts& costs : kCosts)
      for (int p = 1; p <= 7; ++p)
        for (const int v : form.chunks)
          for (int m = form.least_microbatches(p); m <= 3 * p + 2; ++m) {
            if (!form.holds(p, m, costs)) continue;
            SCOPED_TRACE(fmt::format("{} p {} v {} m {} costs {},{},{}", form.kind, p, v, m,
                                     costs.forward, costs.input_grad, costs.weight_grad));
            const ScheduleTiming timing = time_schedule(make_schedule(form.kind, p, v, m), costs);
            for (const RankTiming& rank : timing.ranks) {
              EXPECT_EQ(rank.idle, form.idle(p, v, costs));
              EXPECT_EQ(rank.useful, m * whole(costs));
              EXPECT_DOUBLE_EQ(rank.span, rank.idle + rank.useful);
            }
            EXPECT_EQ(worst_peak(timing), form.worst_peak(p, v, m));
            ++checked;
          }
  EXPECT_GT(checked, 2000);
}

TEST(OneFOneB, NeverHoldsMoreActivationsThanStagesLeft) {
  for (int p = 1; p <= 6; ++p)
    for (int m = p; m <= 9; ++m) {
      const ScheduleTiming timing = time_schedule(make_schedule("1f1b", p, 1, m), StageCosts{});
      for (int rank = 0; rank < p; ++rank)
        EXPECT_EQ(timing.ranks[static_cast<size_t>(rank)].peak_activations, p - rank);
    }
}

TEST(ZbH1, HoldsAsManyActivationsOnEveryRank) {
  for (int p = 1; p <= 6; ++p)
    for (const RankTiming& rank :
         time_schedule(make_schedule("zb_h1", p, 1, 2 * p), StageCosts{}).ranks)
      EXPECT_EQ(rank.peak_activations, p);
}

TEST(ZeroBubble, NoRankStandsStillBetweenItsFirstAndItsLastAction) {
  for (const char* kind : {"zb_h2", "zb_v"})
    for (int p = 1; p <= 6; ++p) {
      const int chunks = schedule_kind(kind).least_chunks;
      const ScheduleTiming timing =
          time_schedule(make_schedule(kind, p, chunks, 2 * p + 1), StageCosts{});
      for (const RankTiming& rank : timing.ranks) EXPECT_EQ(rank.end - rank.begin, rank.useful);
      // What a barrier at the end of the step costs: the last rank's first wait.
      EXPECT_EQ(timing.makespan - timing.ranks[0].useful, (p - 1.0) / chunks);
    }
}

TEST(ScheduleTiming, DecimalCostsAreSummedExactly) {
  const StageCosts costs{1, 1.2, 0.8};
  for (const RankTiming& rank : time_schedule(make_schedule("zb_h2", 4, 1, 8), costs).ranks)
    EXPECT_EQ(rank.idle, 1.8);
  for (const RankTiming& rank : time_schedule(make_schedule("1f1b", 4, 1, 80), costs).ranks)
    EXPECT_EQ(rank.idle, 9);
}

TEST(ScheduleTiming, OneStagesShareOfUsefulTime) {
  for (const char* kind : {"gpipe", "1f1b"}) {
    EXPECT_EQ(1 - time_schedule(make_schedule(kind, 8, 1, 1), StageCosts{}).bubble_of_total, 0.125);
    EXPECT_EQ(time_schedule(make_schedule(kind, 4, 1, 4), StageCosts{}).bubble_of_total, 3.0 / 7);
  }
  const ScheduleTiming timing = time_schedule(make_schedule("1f1b", 8, 1, 32), StageCosts{});
  EXPECT_DOUBLE_EQ(timing.bubble_of_total, 7.0 / 39);
  EXPECT_DOUBLE_EQ(timing.bubble_of_ideal, 7.0 / 32);
}

TEST(ScheduleTiming, ASlowStageSetsThePace) {
  // Rank 1 takes 2 + 4 per microbatch, and its first one comes after rank 0's forward.
  const StageCosts costs[] = {{1, 1, 1}, {2, 2, 2}};
  const ScheduleTiming timing = time_schedule(make_schedule("1f1b", 2, 1, 4), costs);
  EXPECT_EQ(timing.ranks[1].begin, 1);
  EXPECT_EQ(timing.ranks[1].end, 25);
  EXPECT_EQ(timing.makespan, 27);
  EXPECT_EQ(timing.ranks[0].idle, 27 - 12);
  EXPECT_EQ(timing.ranks[1].idle, 27 - 24);
}

TEST(HeldActivations, CountMicrobatchesByStage) {
  EXPECT_EQ(most_held_by_stage(make_schedule("1f1b", 3, 1, 8)), (std::vector<int>{3, 2, 1}));
  EXPECT_EQ(most_held_by_stage(make_schedule("gpipe", 2, 1, 5)), (std::vector<int>{5, 5}));
  EXPECT_EQ(most_held_by_stage(make_schedule("zb_v", 2, 2, 8)), (std::vector<int>{4, 3, 2, 1}));
}

}  // namespace
}  // namespace tessera
