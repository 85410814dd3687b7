// SPDX-License-Identifier: Apache-2.0
// Islands on a small cluster with a slow level, simulated and offered.
#include "studio/simulated_islands.h"

#include <gtest/gtest.h>

#include "config/island_config.h"
#include "studio/island_offer.h"
#include "studio/plan_search.h"

namespace tessera {
namespace {

// Two sites of two GPUs each.
Cluster two_sites() {
  Cluster cluster = load_cluster("three-sites");
  cluster.levels = {
      {.name = "site", .ranks = 2, .bandwidth = {50e9, ""}, .latency_seconds = {1e-6, ""}},
      {.name = "lines", .ranks = 4, .bandwidth = {1e6, ""}, .latency_seconds = {0.01, ""}}};
  return cluster;
}

Config small_config() {
  Config config;
  config.train.batch = 8;
  config.train.seq = 32;
  config.train.precision = "bf16";
  return config;
}

SimulatedIslands simulated(const std::vector<int64_t>& every) {
  Config config = small_config();
  config.mesh = {{"island", 2}, {"dp", 2}};
  const Config one = one_island(config);
  const Cluster cluster = two_sites();
  return simulate_islands(config, simulate_step(one, cluster, spec_to_simulate(cluster, one), {}),
                          every, {});
}

TEST(SimulatedIslands, GiveMoreTokensPerSecondTheRarerTheyExchange) {
  const SimulatedIslands islands = simulated({10, 100, 100000});
  EXPECT_EQ(islands.islands, 2);
  EXPECT_EQ(islands.ranks, 2);
  EXPECT_EQ(islands.level, "lines");
  ASSERT_EQ(islands.rows.size(), 18u);
  const auto rate = [&](size_t every, size_t form) {
    return islands.rows[6 * every + form].tokens_per_second;
  };
  for (size_t form = 0; form < 6; ++form) {
    EXPECT_LT(rate(0, form), rate(1, form));
    EXPECT_LT(rate(1, form), rate(2, form));
  }
  EXPECT_GT(rate(2, 0), 0.9 * islands.alone_tokens_per_second);
  // 8 bits are faster than exact and 4 than 8, streamed than whole.
  EXPECT_LT(rate(1, 0), rate(1, 2));
  EXPECT_LT(rate(1, 2), rate(1, 4));
  EXPECT_LT(rate(2, 0), rate(2, 1));
}

TEST(SimulatedIslands, AreFasterThanSynchronousTrainingOverASlowLevel) {
  const SimulatedIslands islands = simulated({100});
  EXPECT_GT(islands.synchronous_tokens_per_second, 0);
  EXPECT_LT(10 * islands.synchronous_tokens_per_second, islands.rows[3].tokens_per_second);
}

TEST(IslandOffer, IsMadeWhereALevelIsSlowAndSaysThatItIsOtherMaths) {
  const Config config = small_config();
  const auto names = [](std::string_view) { return false; };
  const auto search_few = [](const PlanTask& task) { return search(task, {.most_trials = 3}); };
  const PlanTask task = make_plan_task(config, two_sites(), 4, names);
  const std::optional<IslandOffer> offer = offer_islands(config, task, names, search_few);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->islands, 2);
  EXPECT_EQ(offer->task.ranks, 2);
  EXPECT_EQ(offer->task.run.batch(), 4);
  EXPECT_NE(to_text(*offer, 1).find("not the same maths as synchronous training"),
            std::string::npos);
  const Config planned = planned_config(config, *offer);
  EXPECT_EQ(islands_of(planned), 2);
  EXPECT_EQ(planned.train.batch, 8);
  EXPECT_EQ(planned.islands.wire, IslandWire::Int8);
  EXPECT_EQ(planned.islands.fragments, 8);
  // Within a site there is nothing to offer.
  EXPECT_FALSE(
      offer_islands(config, make_plan_task(config, two_sites(), 2, names), names, search_few));
}

}  // namespace
}  // namespace tessera
