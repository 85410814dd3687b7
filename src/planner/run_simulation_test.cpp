// SPDX-License-Identifier: Apache-2.0
#include "planner/run_simulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace tessera {
namespace {

constexpr double kHour = 3600;

// 100 ranks that fail every 10 hours together; 1000 hours of work.
WholeRun failing_run() {
  return {.ranks = 100,
          .step_seconds = 10,
          .steps = 360'000,
          .conditions = {.rank_failure_seconds = 1000 * kHour,
                         .detect_seconds = 120,
                         .restart_seconds = 300,
                         .stall_seconds = 30,
                         .write_seconds = 30,
                         .repair_seconds = 24 * kHour}};
}

constexpr RunChoices kEnough{.save_every = 100, .spare_nodes = 1000};

double mean_seconds(const WholeRun& run, const RunChoices& choices, int runs) {
  double sum = 0;
  for (int i = 0; i < runs; ++i)
    sum += simulate_run(run, choices, 1, static_cast<uint64_t>(i)).seconds;
  return sum / runs;
}

TEST(RunSimulation, WithoutFailuresOnlySavingIsLost) {
  WholeRun run = failing_run();
  run.conditions.rank_failure_seconds = 0;
  const SimulatedRun simulated = simulate_run(run, kEnough, 1, 0);
  EXPECT_DOUBLE_EQ(simulated.seconds, 1000 * kHour + 3599 * 30);  // none after the last step
  EXPECT_DOUBLE_EQ(simulated.lost(LossKind::Saving), 3599 * 30);
  EXPECT_EQ(simulated.failures, 0);
}

// Daly's formula is exact for independent failures: the mean of 400 runs of about 100 failures each
// is within a thousandth of it.
TEST(RunSimulation, AgreesWithTheClosedForm) {
  for (const int64_t save_every : {20, 100, 720}) {
    const WholeRun run = failing_run();
    const double expected = expected_seconds(run, save_every);
    EXPECT_NEAR(mean_seconds(run, {save_every, 1000}, 400) / expected, 1, 2e-3) << save_every;
  }
}

TEST(RunSimulation, ACheckpointThatIsNotYetWrittenIsNoneToRestartFrom) {
  WholeRun run = failing_run();
  run.conditions.write_seconds = 600;
  const double expected = expected_seconds(run, 100);
  EXPECT_GT(expected, 1.01 * expected_seconds(failing_run(), 100));
  EXPECT_NEAR(mean_seconds(run, kEnough, 400) / expected, 1, 2e-3);
}

TEST(RunSimulation, LossesAndWorkAddUpToTheTime) {
  WholeRun run = failing_run();
  run.conditions.planned_seconds = 30 * kHour;
  run.conditions.slow_node = {2000 * kHour, 1.5, 2 * kHour};
  run.conditions.straggler = {500 * kHour, 2, 600};
  for (uint64_t i = 0; i < 20; ++i) {
    const SimulatedRun simulated = simulate_run(run, {100, 1}, 7, i);
    const double lost =
        std::accumulate(simulated.lost_seconds.begin(), simulated.lost_seconds.end(), 0.0);
    EXPECT_NEAR(run.work_seconds() + lost, simulated.seconds, 1e-6 * simulated.seconds);
    for (const LossRow& row : kLosses) EXPECT_GT(simulated.lost(row.kind), 0) << row.name;
  }
}

TEST(RunSimulation, IsTheSameForTheSameSeed) {
  const SimulatedRun first = simulate_run(failing_run(), kEnough, 3, 5);
  EXPECT_EQ(first.seconds, simulate_run(failing_run(), kEnough, 3, 5).seconds);
  EXPECT_NE(first.seconds, simulate_run(failing_run(), kEnough, 4, 5).seconds);
  EXPECT_NE(first.seconds, simulate_run(failing_run(), kEnough, 3, 6).seconds);
}

// 1000 hours with a slow node every 20 hours, for 2 hours: a tenth of the time, at two thirds of
// the speed. Restarts that replace them are counted apart.
TEST(RunSimulation, SlowNodesSlowEveryRankUntilTheyAreReplaced) {
  WholeRun run = failing_run();
  run.conditions.rank_failure_seconds = 0;
  run.conditions.slow_node = {2000 * kHour, 1.5, 2 * kHour};
  double slow = 0, replaced = 0, seconds = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const SimulatedRun simulated = simulate_run(run, kEnough, 1, i);
    slow += simulated.lost(LossKind::Slow);
    replaced += simulated.lost(LossKind::Planned) / static_cast<double>(simulated.slow_nodes);
    seconds += simulated.seconds;
  }
  // At least one is slow for 1 - exp(-2 / 20) of the time.
  EXPECT_NEAR(slow / seconds, (1 - std::exp(-0.1)) / 3, 2e-3);
  EXPECT_NEAR(replaced / 200, 330, 5);
}

TEST(RunSimulation, WithoutASpareARunWaitsForTheRepair) {
  const WholeRun run = failing_run();
  const SimulatedRun none = simulate_run(run, {100, 0}, 1, 0);
  // Each failure waits a day for its own node.
  EXPECT_NEAR(none.lost(LossKind::Waiting), static_cast<double>(none.failures) * 24 * kHour, 1e-3);
  EXPECT_EQ(simulate_run(run, kEnough, 1, 0).lost(LossKind::Waiting), 0);
}

TEST(RunSimulation, PlannedInterruptionsLoseNoWork) {
  WholeRun run = failing_run();
  run.conditions.rank_failure_seconds = 0;
  run.conditions.planned_seconds = 50 * kHour;
  const SimulatedRun simulated = simulate_run(run, kEnough, 1, 0);
  EXPECT_EQ(simulated.planned, 20);
  EXPECT_DOUBLE_EQ(simulated.lost(LossKind::Planned), 20 * 330.0);
  EXPECT_NEAR(simulated.lost(LossKind::Repeated), 0, 1e-6);
}

// The mean number of nodes in repair is 2.4: with the spares that are needed, fewer than one
// failure in a hundred finds none.
TEST(SpareNodes, AreSoManyThatFewFailuresWait) {
  const WholeRun run = failing_run();
  const int spares = spare_nodes(run);
  EXPECT_EQ(spares, 8);  // 8 or more are away with a probability of 0.33 %, 7 or more with 1.2 %
  int64_t failures = 0;
  double waits = 0, waits_with_fewer = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    const SimulatedRun simulated = simulate_run(run, {100, spares}, 1, i);
    failures += simulated.failures;
    waits += simulated.lost(LossKind::Waiting);
    waits_with_fewer += simulate_run(run, {100, spares - 3}, 1, i).lost(LossKind::Waiting);
  }
  const double most = 0.01 * static_cast<double>(failures) * run.conditions.repair_seconds;
  EXPECT_LT(waits, most);
  EXPECT_GT(waits_with_fewer, 3 * waits);
}

TEST(RunSimulation, GoesOnWithoutANodeInsteadOfWaitingForIt) {
  WholeRun run = failing_run();
  const RunChoices no_spares{.save_every = 100, .spare_nodes = 0};
  const SimulatedRun waits = simulate_run(run, no_spares, 1, 0);
  run.away_factors = {1, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12, 1.14, 1.16, 1.18, 1.2};
  const SimulatedRun elastic = simulate_run(run, no_spares, 1, 0);
  EXPECT_GT(waits.lost(LossKind::Waiting), 100 * kHour);
  EXPECT_EQ(elastic.lost(LossKind::Waiting), 0);
  EXPECT_GT(elastic.planned, 0);  // to take nodes back
  // A node is away for a day and fails every ten hours: 2.4 of them on average, 2 % each.
  EXPECT_NEAR(elastic.lost(LossKind::Slow) / elastic.seconds, 0.024 * 2, 0.015);
  EXPECT_LT(elastic.seconds, waits.seconds);
}

// With one node more than it can go on without, it waits.
TEST(RunSimulation, WaitsWhenTooManyNodesAreAway) {
  WholeRun run = failing_run();
  run.away_factors = {1, 1.02};
  const SimulatedRun simulated = simulate_run(run, {.save_every = 100, .spare_nodes = 0}, 1, 0);
  EXPECT_GT(simulated.lost(LossKind::Waiting), 0);
  double sum = 360'000 * 10;
  for (const double lost : simulated.lost_seconds) sum += lost;
  EXPECT_NEAR(sum / simulated.seconds, 1, 1e-9);
}

}  // namespace
}  // namespace tessera
