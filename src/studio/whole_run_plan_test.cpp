// SPDX-License-Identifier: Apache-2.0
#include "studio/whole_run_plan.h"

#include <gtest/gtest.h>

#include "studio/pictures/rank_counts_svg.h"

namespace tessera {
namespace {

// Without failures: a step of `step_seconds` on `ranks` ranks, a million tokens.
RankCount count_of(int ranks, double step_seconds) {
  const WholeRunTask task{.tokens = 1e6, .options = {.runs = 3}, .price_per_rank_hour = 2};
  return {.ranks = ranks, .run = plan_whole_run(task, 1000, ranks, step_seconds)};
}

TEST(WholeRunPlan, IsTheStepsOfAllTokens) {
  const WholeRunTask task{.tokens = 2.5e6, .options = {.runs = 3}, .price_per_rank_hour = 2};
  const WholeRunPlan plan = plan_whole_run(task, 1000, 16, 36);
  EXPECT_EQ(plan.run.steps, 2500);
  EXPECT_DOUBLE_EQ(plan.days(), 2500 * 36 / 86400.0);
  EXPECT_DOUBLE_EQ(plan.rank_hours(), 25 * 16);
  EXPECT_DOUBLE_EQ(plan.price(), 2 * 25 * 16);
}

TEST(WholeRunPlan, SparesArePaidForWithTheirWholeNodes) {
  WholeRunTask task{.tokens = 1e6, .options = {.runs = 3, .spare_nodes = 2}};
  task.conditions.node_ranks = 8;
  const WholeRunPlan plan = plan_whole_run(task, 1000, 16, 36);
  EXPECT_EQ(plan.paid_ranks(), 32);
  EXPECT_DOUBLE_EQ(plan.rank_hours(), 10 * 32);
}

TEST(RankCounts, AddedRanksAreMeasuredByWhatTheyAdd) {
  // Twice the ranks: twice as fast, then 1.5 times, then 1.25 times as fast.
  const std::vector<RankCount> counts{count_of(8, 12), count_of(16, 6), count_of(32, 4),
                                      count_of(64, 3.2)};
  EXPECT_FALSE(added_share(counts, 0).has_value());
  EXPECT_NEAR(*added_share(counts, 1), 1, 1e-12);
  EXPECT_NEAR(*added_share(counts, 2), 0.5, 1e-12);
  EXPECT_NEAR(*added_share(counts, 3), 0.25, 1e-12);
  EXPECT_EQ(last_that_pays(counts), 2U);
  EXPECT_FALSE(last_that_pays({counts[0], counts[1]}).has_value());
}

TEST(RankCounts, ARowWithoutAPlanIsPassedOver) {
  const std::vector<RankCount> counts{
      count_of(8, 12), {.ranks = 16, .problem = "does not divide"}, count_of(32, 3)};
  EXPECT_NEAR(*added_share(counts, 2), 1, 1e-12);
  EXPECT_FALSE(added_share(counts, 1).has_value());
  const std::string svg = rank_counts_svg(counts, "a toy");
  EXPECT_NE(svg.find("32 ranks: "), std::string::npos);
  EXPECT_EQ(svg.find("16 ranks: "), std::string::npos);
  EXPECT_NE(svg.find(">price<"), std::string::npos);
}

}  // namespace
}  // namespace tessera
