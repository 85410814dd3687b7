// SPDX-License-Identifier: Apache-2.0
#include "planner/run_forecast.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/quantities.h"

namespace tessera {
namespace {

// The conditions of Llama 3's 54 days, as far as they were published; the rest is as usual.
WholeRun llama_run() {
  WholeRun run{.ranks = 16384, .step_seconds = 6.5, .steps = 600'000};
  for (const ConditionRow& row : condition_rows())
    run.conditions.*row.seconds = parse_duration(std::string(row.usual), "here");
  run.conditions.node_ranks = 8;
  return run;
}

TEST(RunForecast, SavesNoLessOftenThanFailuresWant) {
  const WholeRun run = llama_run();
  const RunForecast found = forecast(run, {.seed = 1, .runs = 50});
  // Failures every 3.1 hours, stalls of 10 s: Young says 7.9 minutes.
  EXPECT_NEAR(found.young_seconds, 472, 1);
  EXPECT_NEAR(found.daly_seconds, 465, 2);
  const double chosen = found.mean_seconds();
  for (const double factor : {0.25, 4.0}) {
    const auto other = static_cast<int64_t>(factor * static_cast<double>(found.choices.save_every));
    EXPECT_GT(forecast(run, {.seed = 1, .runs = 50, .save_every = other}).mean_seconds(), chosen);
  }
}

TEST(RunForecast, PercentilesAreInOrderAroundTheMean) {
  const RunForecast found = forecast(llama_run(), {.seed = 1, .runs = 100});
  EXPECT_LT(found.seconds_at(0.05), found.mean_seconds());
  EXPECT_LT(found.mean_seconds(), found.seconds_at(0.95));
  EXPECT_NEAR(found.mean_seconds() / found.expected_seconds, 1, 5e-3);
}

TEST(RunForecast, ARunWithoutFailuresSavesOnceAtItsEnd) {
  WholeRun run = llama_run();
  run.conditions.rank_failure_seconds = 0;
  const RunForecast found = forecast(run, {.runs = 2});
  EXPECT_EQ(found.choices.save_every, run.steps);
  EXPECT_EQ(found.choices.spare_nodes, 0);
  EXPECT_DOUBLE_EQ(found.mean_seconds(), run.work_seconds());
}

TEST(RunForecast, NoHeadwayIsAnError) {
  WholeRun run = llama_run();
  run.conditions.rank_failure_seconds = 50 * 3600;  // 11 s between failures
  EXPECT_THROW(forecast(run, {}), UserError);
}

// A node more or a node less costs more rank hours: it is paid for, or failures wait.
TEST(RunForecast, SparesAreSoManyAsPay) {
  for (const int ranks : {16384, 64}) {
    WholeRun run = llama_run();
    run.ranks = ranks;
    const RunForecast found = forecast(run, {.seed = 1, .runs = 40});
    const int best = found.choices.spare_nodes;
    const auto rank_seconds = [&](int spares) {
      return (ranks + 8 * spares) * forecast(run, {.seed = 1,
                                                   .runs = 40,
                                                   .save_every = found.choices.save_every,
                                                   .spare_nodes = spares})
                                        .mean_seconds();
    };
    EXPECT_LT(rank_seconds(best), rank_seconds(best + 1)) << ranks;
    if (best > 0) {
      EXPECT_LT(rank_seconds(best), rank_seconds(best - 1)) << ranks;
    }
  }
}

// Every figure hurts when it grows, but for the time between failures, which helps.
TEST(RunForecast, SensitivitiesGoTheRightWay) {
  for (const Sensitivity& row : sensitivities(llama_run(), {.seed = 1, .runs = 30})) {
    const double quarter = row.goodput.front(), four_times = row.goodput.back();
    if (row.name == "mtbf") {
      EXPECT_GT(four_times, quarter + 0.05);
    } else if (row.name != "repair") {  // spares make up for that
      EXPECT_LT(four_times, quarter) << row.name;
    }
  }
}

TEST(Slowdown, IsATimeAFactorAndATime) {
  const Slowdown slow = parse_slowdown("50000h,1.1,2h", "here");
  EXPECT_DOUBLE_EQ(slow.between_seconds, 50000 * 3600.0);
  EXPECT_DOUBLE_EQ(slow.factor, 1.1);
  EXPECT_DOUBLE_EQ(slow.lasts_seconds, 7200);
  for (const std::string text : {"", "1h", "1h,2", "1h,0.5,1h", "1h,x,1h", "1,2,3", "1h,2,1h,1"})
    EXPECT_THROW(parse_slowdown(text, "here"), UserError) << text;
}

}  // namespace
}  // namespace tessera
