// SPDX-License-Identifier: Apache-2.0
#include "record/measured_goodput.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tessera {
namespace {

struct Given {
  double began, seconds;
  int64_t first, last;
  double start, work, stall;
  int available;
  std::string_view end;
};

StartRecord start(const Given& given) {
  StartRecord made{.began_unix_seconds = given.began, .seconds = given.seconds};
  made.first_step = given.first;
  made.last_step = given.last;
  made.start_seconds = given.start;
  made.work_seconds = given.work;
  made.stall_seconds = given.stall;
  made.saves = 1;
  made.ranks = made.available = given.available;
  made.end = given.end;
  return made;
}

// Eight ranks make ten steps of a second, of which four were not saved when one is lost; seven make
// steps of two seconds until it is back.
std::vector<StartRecord> lost_and_back() {
  std::vector<StartRecord> starts{start({0, 16, 1, 10, 3, 10, 1, 8, kStartFailed}),
                                  start({20, 26, 7, 16, 4, 20, 1, 7, kStartMoved}),
                                  start({47, 30, 17, 40, 2, 24, 1, 8, kStartDone})};
  starts[1].waited_seconds = 3;
  return starts;
}

TEST(MeasuredGoodput, EverySecondIsCountedOnce) {
  const MeasuredGoodput found = measure_goodput(lost_and_back());
  EXPECT_DOUBLE_EQ(found.seconds, 77);
  EXPECT_EQ(found.steps, 40);
  EXPECT_DOUBLE_EQ(found.step_seconds, 1);
  EXPECT_DOUBLE_EQ(found.productive_seconds, 40);
  EXPECT_DOUBLE_EQ(found.lost(LossKind::Repeated), 4);
  EXPECT_DOUBLE_EQ(found.lost(LossKind::Detecting), 2);
  EXPECT_DOUBLE_EQ(found.lost(LossKind::Waiting), 3);
  EXPECT_DOUBLE_EQ(found.lost(LossKind::Restarting), 3 + 1 + 4);
  EXPECT_DOUBLE_EQ(found.lost(LossKind::Slow), 10);
  EXPECT_DOUBLE_EQ(found.lost(LossKind::Planned), 1 + 1 + 2);
  EXPECT_DOUBLE_EQ(found.lost(LossKind::Saving), 1 + 1 + 1 + 3);
  const double lost = std::accumulate(found.lost_seconds.begin(), found.lost_seconds.end(), 0.0);
  EXPECT_DOUBLE_EQ(found.productive_seconds + lost, found.seconds);
  EXPECT_EQ(found.failures, 1);
  EXPECT_EQ(found.moves, 1);
}

TEST(MeasuredGoodput, AStartThatMadeNoStepIsAllRestart) {
  std::vector<StartRecord> starts = lost_and_back();
  starts.insert(starts.begin() + 1, start({16, 4, 0, 0, 4, 0, 0, 7, kStartFailed}));
  starts[2].waited_seconds = 0;
  const MeasuredGoodput found = measure_goodput(starts);
  EXPECT_DOUBLE_EQ(found.seconds, 77);
  EXPECT_DOUBLE_EQ(found.lost(LossKind::Restarting), 3 + 4 + 4);
  EXPECT_DOUBLE_EQ(found.lost(LossKind::Repeated), 4);  // the next one that made steps counts
}

TEST(MeasuredGoodput, ADayBetweenTwoSupervisorsIsNotTheRuns) {
  std::vector<StartRecord> starts = lost_and_back();
  starts[1].waited_seconds = 0;
  for (size_t i : {1, 2}) starts[i].began_unix_seconds += 86400;
  EXPECT_DOUBLE_EQ(measure_goodput(starts).seconds, 77 - 4);
}

TEST(MeasuredGoodput, ThePlannersModelMeetsTheMeasuredConditions) {
  const std::vector<StartRecord> starts = lost_and_back();
  const MeasuredGoodput found = measure_goodput(starts);
  const MeasuredRun measured = measure_conditions(starts, found, 0.5);
  EXPECT_EQ(measured.run.ranks, 8);
  EXPECT_EQ(measured.run.conditions.node_ranks, 1);
  EXPECT_DOUBLE_EQ(measured.first_start_seconds, 3);
  EXPECT_DOUBLE_EQ(measured.run.conditions.rank_failure_seconds, 8 * (77 - 3 - 3));
  EXPECT_DOUBLE_EQ(measured.run.conditions.restart_seconds, 5);
  EXPECT_DOUBLE_EQ(measured.run.conditions.detect_seconds, 1.5);
  EXPECT_EQ(measured.run.away_factors, (std::vector<double>{1, 2}));
  EXPECT_NEAR(measured.run.conditions.repair_seconds, 26.0 / 72 * 71, 1e-9);
}

// What the model plays is measured on the way: a run that it made up is predicted as it was.
TEST(MeasuredGoodput, ALongRunIsPredictedAsItWas) {
  std::vector<StartRecord> starts;
  double now = 0;
  int64_t done = 0;
  for (int i = 0; i < 50; ++i) {
    const int available = 8 - i % 2;
    const double step = available == 8 ? 1 : 1.5;
    const int64_t steps = 100, kept = i % 2 == 0 ? 90 : 100;
    const double work = static_cast<double>(steps) * step;
    const bool fails = i % 2 == 0;
    starts.push_back(start({now, 5 + work + 2 + 3, done + 1, done + steps, 5, work, 2, available,
                            fails ? kStartFailed : kStartMoved}));
    starts.back().saves = 5;
    done += kept;
    now += starts.back().seconds + 2;
  }
  starts.back().end = kStartDone;
  const MeasuredGoodput found = measure_goodput(starts);
  const auto predicted = predict_goodput(measure_conditions(starts, found, 1), 20);
  ASSERT_TRUE(predicted);
  EXPECT_NEAR(predicted->share, found.share(), 0.05);
  double all = predicted->share;
  for (const double lost : predicted->lost_shares) all += lost;
  EXPECT_NEAR(all, 1, 1e-9);
}

TEST(MeasuredGoodput, OneLineSaysWhatCostMost) {
  EXPECT_EQ(
      to_line(measure_goodput(lost_and_back())),
      "goodput 51.9 % of 77.0 s: 13.0 % slow, 10.4 % restarting, 7.8 % saving, 5.2 % repeated, "
      "5.2 % planned, 3.9 % waiting, 2.6 % detecting");
}

}  // namespace
}  // namespace tessera
