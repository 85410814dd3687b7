// SPDX-License-Identifier: Apache-2.0
#include "planner/cadence.h"

#include <gtest/gtest.h>

#include "planner/whole_run.h"

namespace tessera {
namespace {

TEST(Cadence, LosesLeast) {
  const SaveCosts costs{.stall_seconds = 0.5,
                        .written_seconds = 2,
                        .step_seconds = 1,
                        .seconds_between_failures = 3600};
  const Cadence best = best_cadence(costs);
  EXPECT_EQ(best.steps, 60);
  const auto lost = [&](double interval) { return 0.5 / interval + interval / 7200; };
  EXPECT_NEAR(best.lost_share, lost(60), 1e-12);
  EXPECT_LT(best.lost_share, lost(40));
  EXPECT_LT(best.lost_share, lost(90));
}

TEST(Cadence, LeavesTimeToWrite) {
  EXPECT_EQ(best_cadence({.stall_seconds = 1e-6,
                          .written_seconds = 30,
                          .step_seconds = 2,
                          .seconds_between_failures = 100})
                .steps,
            15);
  EXPECT_EQ(best_cadence({.stall_seconds = 0,
                          .written_seconds = 0,
                          .step_seconds = 2,
                          .seconds_between_failures = 100})
                .steps,
            1);
}

// Stalls of a tenth of the time between failures: Young's first order is 16 % too long.
TEST(Cadence, DalysIsTheLeastOfTheClosedForm) {
  WholeRun run{.ranks = 1, .step_seconds = 1, .steps = 1'000'000};
  run.conditions.rank_failure_seconds = 1000;
  run.conditions.stall_seconds = run.conditions.write_seconds = 100;
  int64_t best = 1;
  for (int64_t every = 1; every < 1000; ++every)
    if (expected_seconds(run, every) < expected_seconds(run, best)) best = every;
  EXPECT_NEAR(daly_seconds(run.save_costs()) / static_cast<double>(best), 1, 0.02);
  EXPECT_NEAR(young_seconds(run.save_costs()) / static_cast<double>(best), 1.16, 0.05);
}

}  // namespace
}  // namespace tessera
