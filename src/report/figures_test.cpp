// SPDX-License-Identifier: Apache-2.0
#include "report/figures.h"

#include <gtest/gtest.h>

#include "report/testing/made_run.h"

namespace tessera {
namespace {

TEST(Figures, PartsAddUpToTheTimeFromStepToStep) {
  const RunFigures figures = figures_of(made_run());
  ASSERT_TRUE(figures.split());
  EXPECT_NEAR(figures.split()->step_seconds(), 0.9, 1e-12);
  EXPECT_NEAR(figures.split()->other_seconds, 0.04, 1e-12);
  EXPECT_NEAR(figures.split()->between_steps_seconds, 0.1, 1e-12);
  EXPECT_NEAR(figures.split()->total_seconds(), 1.0, 1e-12);
  EXPECT_NEAR(*figures.share(figures.split()->bubble_seconds), 0.2, 1e-12);
  EXPECT_NEAR(*figures.all_tokens_per_second, 100, 1e-9);
}

TEST(Figures, LeaveOutTheFirstStepAfterEachStart) {
  RunRecord run = made_run();
  run.events.push_back({.kind = "start", .step = 5});
  for (const size_t first : {size_t{0}, size_t{5}}) run.steps[first].step_seconds = 100;
  const RunFigures figures = figures_of(run);
  EXPECT_EQ(figures.counted_steps, 8);
  EXPECT_NEAR(figures.mean.step_seconds, 0.9, 1e-12);
  EXPECT_NEAR(*figures.slowest_step_seconds, 0.9, 1e-12);
}

TEST(Figures, OfASingleStepAreThatSteps) {
  const RunFigures figures = figures_of(made_run(1));
  EXPECT_EQ(figures.counted_steps, 1);
  EXPECT_NEAR(figures.mean.step_seconds, 0.9, 1e-12);
}

TEST(Figures, CountFullAttentionByTheModelsOwnRatio) {
  EXPECT_NEAR(*figures_of(made_run()).mfu_full, 0.6, 1e-12);
}

TEST(Figures, WeighRatesByTime) {
  RunRecord run = made_run(3);
  run.steps[1].step_seconds = 1;
  run.steps[1].tokens_per_second = 100;
  run.steps[2].step_seconds = 3;
  run.steps[2].tokens_per_second = 20;
  EXPECT_NEAR(figures_of(run).mean.tokens_per_second, 40, 1e-9);
}

TEST(Figures, WhatWasNotRecordedIsAbsent) {
  RunRecord run{.folder = "old"};
  run.steps.push_back({.step = 1, .loss = 3.0});
  const RunFigures figures = figures_of(run);
  for (const StepField& field : step_fields())
    if (field.value != &StepRecord::loss) {
      EXPECT_FALSE(known(field.of(figures.mean))) << field.key;
    }
  EXPECT_FALSE(figures.split());
  EXPECT_EQ(figures.peak_bytes, 0);
}

TEST(Figures, CheckpointsCostTheirShareOfTheTime) {
  RunRecord run = made_run();
  run.events.insert(run.events.begin() + 1,
                    {.kind = "checkpoint", .step = 5, .seconds = 0.9, .bytes = 77});
  const RunFigures figures = figures_of(run);
  EXPECT_EQ(figures.checkpoints.times, 1);
  EXPECT_EQ(figures.checkpoints.bytes, 77);
  EXPECT_NEAR(*figures.checkpoint_share(), 0.1, 1e-12);  // 0.9 s over nine steps of a second
}

TEST(Figures, TheTimeAfterTheLastStepCounts) {
  RunRecord run = made_run();
  run.events.back().elapsed_seconds += 9;
  EXPECT_NEAR(figures_of(run).split()->between_steps_seconds, 1.1, 1e-12);
}

TEST(Figures, MemoryIsThatOfTheFullestRankAndOfAll) {
  const RunFigures figures = figures_of(made_run());
  EXPECT_EQ(figures.peak_bytes, 900);
  EXPECT_EQ(figures.all_peak_bytes, 2 * 900 + 2 * 600);
}

}  // namespace
}  // namespace tessera
