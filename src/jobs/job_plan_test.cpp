// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_plan.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

JobPlan toy_plan() {
  return {.run_id = "0123456789abcdef",
          .cluster = "toy",
          .steps = 100,
          .tokens_per_step = 512,
          .node_ranks = 2,
          .rank_cpus = 3,
          .min_nodes = 1,
          .max_nodes = 4,
          .grace_seconds = 90,
          .limit_seconds = 3600,
          .attempts = 3,
          .curve = {{.nodes = 1,
                     .ranks = 2,
                     .mesh = "dp=2",
                     .plan = "dp=2 zero=1",
                     .settings = {{"plan.zero", "1"}, {"train.microbatches", "4"}},
                     .step_seconds = 2,
                     .run_seconds = 210,
                     .long_run_seconds = 220,
                     .goodput = 0.9,
                     .save_every = 7},
                    {.nodes = 2, .ranks = 4, .mesh = "dp=4", .step_seconds = 1},
                    {.nodes = 3, .ranks = 6, .mesh = "pp=3,dp=2", .step_seconds = 1.5},
                    {.nodes = 4, .ranks = 8, .problem = "does not divide"}}};
}

TEST(JobPlan, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  const std::filesystem::path file = job_plan_file(folder.path());
  write_job_plan(file, toy_plan());
  const JobPlan read = read_job_plan(file), plan = toy_plan();
  EXPECT_EQ(read.run_id, plan.run_id);
  EXPECT_EQ(read.cluster, plan.cluster);
  EXPECT_EQ(read.steps, plan.steps);
  EXPECT_EQ(read.tokens_per_step, plan.tokens_per_step);
  EXPECT_EQ(read.node_ranks, plan.node_ranks);
  EXPECT_EQ(read.rank_cpus, plan.rank_cpus);
  EXPECT_EQ(read.max_nodes, plan.max_nodes);
  EXPECT_EQ(read.attempts, plan.attempts);
  EXPECT_EQ(read.limit_seconds, plan.limit_seconds);
  ASSERT_EQ(read.curve.size(), plan.curve.size());
  EXPECT_EQ(read.curve[0].settings, plan.curve[0].settings);
  EXPECT_EQ(read.curve[0].long_run_seconds, plan.curve[0].long_run_seconds);
  EXPECT_EQ(read.curve[0].save_every, plan.curve[0].save_every);
  EXPECT_EQ(read.curve[3].problem, plan.curve[3].problem);
}

// Three nodes are slower than two here, and four have no plan.
TEST(JobPlan, IsTheFastestThatTheNodesAllow) {
  const JobPlan plan = toy_plan();
  EXPECT_EQ(plan.plan_for(1).nodes, 1);
  EXPECT_EQ(plan.plan_for(2).nodes, 2);
  EXPECT_EQ(plan.plan_for(4).nodes, 2);
  JobPlan large = plan;
  large.curve.erase(large.curve.begin());
  EXPECT_EQ(user_error_of([&] { large.plan_for(1); }), "the job has no plan for 1 node");
}

TEST(JobPlan, SaysWhatItsFileLacks) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "plan.json";
  const auto error = [&] { return user_error_of([&] { read_job_plan(file); }); };
  EXPECT_NE(error().find("there is no plan of a job at"), std::string::npos);
  std::ofstream(file) << "{}";
  EXPECT_EQ(error(), "the plan of the job has no run_id that can be read");
  std::ofstream(file) << R"({"run_id": 3})";
  EXPECT_EQ(error(), "the plan of the job has no run_id that can be read");
  std::ofstream(file) << "[";
  EXPECT_NE(error().find("the plan of the job "), std::string::npos);
}

}  // namespace
}  // namespace tessera
