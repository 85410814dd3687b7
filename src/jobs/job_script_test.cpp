// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_script.h"

#include <gtest/gtest.h>

#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

JobPlan toy_plan() {
  return {.cluster = "toy",
          .node_ranks = 4,
          .rank_cpus = 2,
          .min_nodes = 2,
          .max_nodes = 4,
          .grace_seconds = 90,
          .limit_seconds = 90000,
          .curve = {{.nodes = 1, .ranks = 4, .plan = "dp=4", .step_seconds = 4},
                    {.nodes = 2, .ranks = 8, .plan = "dp=8", .step_seconds = 2}}};
}

TEST(JobScript, AsksForARangeAWarningAndTheQueueAgain) {
  const std::string text = job_script(toy_plan(), {.name = "tiny",
                                                   .output = "out/job/output.txt",
                                                   .gpus_per_node = 4,
                                                   .more = {"--account=me"},
                                                   .command = {"tessera", "train", "a b"}});
  EXPECT_TRUE(text.starts_with("#!/bin/bash\n"));
  for (const char* line :
       {"#SBATCH --nodes=2-4", "#SBATCH --mincpus=8", "#SBATCH --gpus-per-node=4",
        "#SBATCH --time=1-01:00:00", "#SBATCH --signal=B:USR2@90", "#SBATCH --requeue",
        "#SBATCH --open-mode=append", "#SBATCH --output=out/job/output.txt", "#SBATCH --account=me",
        "exec tessera train 'a b'"})
    EXPECT_TRUE(has_line(text, line)) << line << " is not in\n" << text;
  EXPECT_EQ(text.find("--array"), std::string::npos);
  // Slurm gives as many nodes as there are tasks for: a number of tasks would fix the nodes.
  EXPECT_EQ(text.find("--ntasks"), std::string::npos);
  // One node is not in the range.
  EXPECT_EQ(text.find("dp=4"), std::string::npos);
  EXPECT_NE(text.find("dp=8"), std::string::npos);
}

TEST(JobScript, RunsOneAttemptOfAnArrayAtATime) {
  JobPlan plan = toy_plan();
  plan.min_nodes = plan.max_nodes = 2;
  plan.attempts = 5;
  const std::string text = job_script(plan, {.name = "a b", .command = {"true"}});
  EXPECT_TRUE(has_line(text, "#SBATCH --array=1-5%1"));
  EXPECT_TRUE(has_line(text, "#SBATCH --nodes=2"));
  EXPECT_TRUE(has_line(text, "#SBATCH --job-name='a b'"));
}

TEST(JobScript, QuotesWhatAShellWouldExpand) {
  EXPECT_EQ(shell_word("--set"), "--set");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(JobScript, RoundsTimesUpToMinutes) {
  EXPECT_EQ(slurm_time(61), "00:02:00");
  EXPECT_EQ(slurm_time(3600), "01:00:00");
  EXPECT_EQ(slurm_time(2 * 86400 + 60), "2-00:01:00");
}

TEST(JobTimes, AreThoseOfTheSlowestPlanWithAMargin) {
  const PlannedNodes slowest{.step_seconds = 10, .long_run_seconds = 36000};
  const JobTimes times = job_times(slowest, {.start_seconds = 300, .save_seconds = 70});
  EXPECT_EQ(times.grace_seconds, 184);    // 1.15 x 2 x 80
  EXPECT_EQ(times.limit_seconds, 41940);  // 1.15 x 36000 + 300 + 184, in minutes
  EXPECT_EQ(times.attempts, 1);
}

TEST(JobTimes, OfAShorterPartitionAreSeveralAttempts) {
  const PlannedNodes slowest{.step_seconds = 10, .long_run_seconds = 36000};
  const JobTimes times = job_times(
      slowest,
      {.start_seconds = 300, .save_seconds = 70, .grace_seconds = 100, .longest_seconds = 7230});
  EXPECT_EQ(times.grace_seconds, 100);
  EXPECT_EQ(times.limit_seconds, 7200);
  EXPECT_EQ(times.attempts, 8);  // 41400 s of 6800 each, and one more
  EXPECT_EQ(job_times(slowest, {.longest_seconds = 1e9}).attempts, 1);
}

TEST(JobTimes, RefuseAnAttemptInWhichNoStepFits) {
  const PlannedNodes slowest{.step_seconds = 200, .long_run_seconds = 36000};
  const JobTimeOptions options{.start_seconds = 300, .grace_seconds = 120, .longest_seconds = 600};
  EXPECT_EQ(
      user_error_of([&] { job_times(slowest, options); }),
      "an attempt of 10m00s is too short: it starts in 5m00s, is warned 2m00s before its end, "
      "and a step takes 3m20s");
}

}  // namespace
}  // namespace tessera
