// SPDX-License-Identifier: Apache-2.0
#include "report/incidents.h"

#include <gtest/gtest.h>

#include "report/testing/made_run.h"

namespace tessera {
namespace {

using Sentences = std::vector<std::string>;

TEST(Stalls, AreStepsOverTwoMediansWithThePartThatGrew) {
  RunRecord run = made_run();
  run.steps[4].step_seconds = 2.7;
  run.steps[4].times.data_seconds = 1.81;
  run.steps[7].step_seconds = 1.79;  // under two medians
  const std::vector<Stall> stalls = stalls_of(run);
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_EQ(stalls[0].step, 5);
  EXPECT_NEAR(stalls[0].times_median, 3, 1e-12);
  EXPECT_EQ(stalls[0].grew, "data");
}

TEST(Stalls, TheFirstStepOfAStartIsNone) {
  RunRecord run = made_run();
  run.steps[0].step_seconds = 50;
  EXPECT_TRUE(stalls_of(run).empty());
}

TEST(Failures, ARunThatBeganOnceAndEndedHasNone) {
  EXPECT_EQ(failures_of(made_run()), Sentences{});
}

TEST(Failures, NameTheStepAndWhatWasSaid) {
  RunRecord run = made_run();
  run.events.back() = {.kind = "failure", .step = 7, .text = "rank 2 is late"};
  EXPECT_EQ(failures_of(run), Sentences{"failed at step 7: rank 2 is late"});
}

TEST(Failures, AStartWithoutAnEndWasKilled) {
  RunRecord run = made_run();
  run.events.insert(run.events.begin() + 1, {.kind = "start", .step = 4});
  EXPECT_EQ(failures_of(run),
            Sentences{"was interrupted (it was killed, or the machine went down: a start "
                      "has no end) and resumed from step 4"});
  run.events.pop_back();
  EXPECT_EQ(failures_of(run).back(), "has not ended: it still runs, or was killed");
}

TEST(Failures, AKilledRankIsNamedWithTheStepsThatAreComputedAgain) {
  RunRecord run = killed_run(5, 2.125);
  const Sentences expected = {
      "was interrupted after step 9 (rank 0 was killed) and resumed from step 4: 5 steps computed "
      "again, 2.125 s lost"};
  EXPECT_EQ(failures_of(run), expected);
  // Another rank had time to record that it gave up: that is the same failure.
  run.events.insert(run.events.begin() + 1,
                    {.kind = "failure", .step = 9, .text = "stopped because rank 0 failed"});
  EXPECT_EQ(failures_of(run), expected);
}

TEST(Failures, ARunThatWasResumedAndEndedCameBack) {
  RunRecord run = made_run();
  EXPECT_FALSE(came_back(run));  // from nothing
  run.events.insert(run.events.begin() + 1, {.kind = "start", .step = 4});
  EXPECT_TRUE(came_back(run));
  run.lines_left_out = 1;
  EXPECT_FALSE(came_back(run));
  run.lines_left_out = 0;
  run.events.back().text = "SIGTERM";
  EXPECT_FALSE(came_back(run));
  run.events.back() = {.kind = "failure", .step = 7, .text = "rank 1 is late"};
  EXPECT_FALSE(came_back(run));
}

TEST(Failures, ARunThatWasStoppedOrEndedAndThenResumedHasNone) {
  for (const char* signal : {"", "SIGINT"}) {
    RunRecord run = made_run();
    run.events.insert(run.events.begin() + 1,
                      {{.kind = "end", .step = 4, .text = signal}, {.kind = "start", .step = 4}});
    EXPECT_EQ(failures_of(run), Sentences{}) << signal;
  }
}

TEST(Failures, ASignalACutLineAndALossThatIsNoNumberAreSaid) {
  RunRecord run = made_run();
  run.events.back().text = "SIGTERM";
  run.steps[3].loss = kUnknown;
  run.lines_left_out = 2;
  EXPECT_EQ(failures_of(run),
            (Sentences{"stopped by SIGTERM after step 10", "has 1 step whose loss is not finite",
                       "has 2 lines in its record that cannot be read: truncated, and skipped"}));
}

}  // namespace
}  // namespace tessera
