// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_state.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

JobPlan toy_plan() {
  return {.steps = 100,
          .tokens_per_step = 1000,
          .min_nodes = 1,
          .max_nodes = 2,
          .curve = {{.nodes = 1, .ranks = 1, .step_seconds = 2, .goodput = 0.8},
                    {.nodes = 2, .ranks = 2, .step_seconds = 1, .goodput = 0.8}}};
}

// Steps first .. last of `seconds` each, but the first of the start, which takes ten times as long.
void add_start(RunRecord& record, int64_t first, int64_t last, double seconds) {
  record.events.push_back({.kind = "start", .step = first - 1});
  for (int64_t step = first; step <= last; ++step)
    record.steps.push_back({.step = step, .step_seconds = step == first ? 10 * seconds : seconds});
}

const JobAttempt kFirst{.job = "7",
                        .begin = 1000,
                        .nodes = 1,
                        .ranks = 1,
                        .mesh = "dp=1",
                        .step_seconds = 2,
                        .end = 1100,
                        .last_step = 20,
                        .ended = "stopped"};
const JobAttempt kSecond{.job = "7",
                         .begin = 1500,
                         .first_step = 20,
                         .nodes = 2,
                         .ranks = 2,
                         .mesh = "dp=2",
                         .step_seconds = 1};
const QueuedJob kRuns{.id = "7", .state = "running"},
    kWaits{.id = "7", .state = "pending", .reason = "BeginTime"};

// 20 steps of 4 s and 30 of 2 s, while ranks were held for 100 and 200 s.
TEST(JobState, CountsEachStepOnceAtFullSpeed) {
  RunRecord record;
  add_start(record, 1, 20, 4);
  add_start(record, 21, 50, 2);
  EXPECT_DOUBLE_EQ(productive_seconds(record), 140);
  const std::vector<JobAttempt> attempts{kFirst, kSecond};
  const JobState state = job_state("out", toy_plan(), attempts, &record, &kRuns, 1700);
  EXPECT_EQ(state.state, "running");
  EXPECT_EQ(state.step, 50);
  EXPECT_DOUBLE_EQ(state.held_seconds, 300);
  EXPECT_NEAR(*state.goodput, 140.0 / 300, 1e-12);
  EXPECT_DOUBLE_EQ(*state.tokens_per_second, 500);
  EXPECT_DOUBLE_EQ(*state.predicted_tokens_per_second, 1000);
  EXPECT_NEAR(*state.left_seconds, 50 * 2 / 0.8, 1e-9);
}

// It ran at half the predicted speed on one node, and waits for two.
TEST(JobState, ExpectsTheSameErrorOnOtherRanks) {
  RunRecord record;
  add_start(record, 1, 20, 4);
  const std::vector<JobAttempt> attempts{kFirst};
  const JobState state = job_state("out", toy_plan(), attempts, &record, &kWaits, 1700);
  EXPECT_EQ(state.state, "pending");
  EXPECT_EQ(state.reason, "BeginTime");
  EXPECT_DOUBLE_EQ(state.held_seconds, 100);
  EXPECT_NEAR(*state.left_seconds, 80 * 2 / 0.8, 1e-9);
}

TEST(JobState, OfAJobThatSlurmDoesNotHaveIsWhatItSaidLast) {
  const JobPlan plan = toy_plan();
  EXPECT_EQ(job_state("out", plan, {}, nullptr, nullptr, 0).state, "gone");
  EXPECT_EQ(job_state("out", plan, std::vector{kFirst}, nullptr, nullptr, 0).state, "stopped");
  EXPECT_EQ(job_state("out", plan, std::vector{kFirst, kSecond}, nullptr, nullptr, 0).state,
            "gone");
  JobAttempt failed = kFirst;
  failed.ended = "failed";
  failed.code = 5;
  EXPECT_EQ(job_state("out", plan, std::vector{failed}, nullptr, nullptr, 0).reason, "exit code 5");
}

// Also of an attempt that was killed before it could say so.
TEST(JobState, IsCompleteWithItsLastStep) {
  RunRecord record;
  add_start(record, 1, 100, 1);
  JobAttempt last = kFirst;
  last.end.reset();
  const JobState state = job_state("out", toy_plan(), std::vector{last}, &record, &kWaits, 2000);
  EXPECT_EQ(state.state, "complete");
  EXPECT_EQ(*state.left_seconds, 0);
  const std::string table = job_table(std::vector{state});
  EXPECT_NE(table.find("100/100"), std::string::npos) << table;
}

TEST(JobState, LeavesOutTheFirstStepOfAStart) {
  RunRecord record;
  add_start(record, 1, 2, 3);
  EXPECT_DOUBLE_EQ(productive_seconds(record), 6);
}

TEST(JobState, OfAJobThatWaitsForItsFirstAttemptIsPredicted) {
  const JobState state = job_state("out", toy_plan(), {}, nullptr, &kWaits, 0);
  EXPECT_EQ(state.attempts, 0);
  EXPECT_FALSE(state.tokens_per_second.has_value());
  EXPECT_FALSE(state.goodput.has_value());
  EXPECT_NEAR(*state.left_seconds, 100 / 0.8, 1e-9);
}

TEST(AttemptLog, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(attempts_file(folder.path()).parent_path());
  EXPECT_TRUE(read_attempts(folder.path()).empty());
  ASSERT_TRUE(log_begin(folder.path(), kFirst));
  ASSERT_TRUE(log_end(folder.path(), kFirst));
  ASSERT_TRUE(log_begin(folder.path(), kSecond));
  const std::vector<JobAttempt> read = read_attempts(folder.path());
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].job, "7");
  EXPECT_EQ(read[0].begin, 1000);
  EXPECT_EQ(read[0].end, 1100);
  EXPECT_EQ(read[0].ended, "stopped");
  EXPECT_EQ(read[0].last_step, 20);
  EXPECT_EQ(read[1].ranks, 2);
  EXPECT_EQ(read[1].first_step, 20);
  EXPECT_FALSE(read[1].end.has_value());
  EXPECT_FALSE(log_begin(folder.path() / "none", kFirst));
}

}  // namespace
}  // namespace tessera
