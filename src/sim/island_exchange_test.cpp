// SPDX-License-Identifier: Apache-2.0
#include "sim/island_exchange.h"

#include <gtest/gtest.h>

#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

// Two ranks a site, 1 MB/s and 10 ms between sites: 2 MB/s of a site.
Cluster two_level_cluster() {
  Cluster cluster = load_cluster("three-sites");
  cluster.levels = {
      {.name = "site", .ranks = 2, .bandwidth = {50e9, ""}, .latency_seconds = {1e-6, ""}},
      {.name = "lines", .ranks = 8, .bandwidth = {1e6, ""}, .latency_seconds = {0.01, ""}}};
  return cluster;
}

// 4 MB in fp32.
constexpr ExchangePlan kTwo{.islands = 2, .ranks = 2, .parameters = 1'000'000, .every = 100};

TEST(IslandExchangeTimes, AreThoseOfTheBytesOnTheHubsLink) {
  const IslandTimes two = island_times(two_level_cluster(), kTwo, 0.1);
  EXPECT_EQ(two.bytes, 4e6);
  EXPECT_NEAR(two.transfer_seconds, 2 * 4e6 / 2e6 + 0.04, 1e-9);
  EXPECT_EQ(two.exposed_seconds, two.transfer_seconds);
  EXPECT_NEAR(two.step_seconds, 0.1 + two.transfer_seconds / 100, 1e-12);
  ExchangePlan four = kTwo;
  four.islands = 4;
  EXPECT_NEAR(island_times(two_level_cluster(), four, 0.1).transfer_seconds,
              3 * 2 * 4e6 / 2e6 + 0.04, 1e-9);
}

TEST(IslandExchangeTimes, IntegersOf8BitsTakeAQuarterAndTheirScales) {
  ExchangePlan exchange = kTwo;
  exchange.format.wire = IslandWire::Int8;
  const double blocks = 3907;  // of 256 values, the last one not full
  EXPECT_EQ(island_times(two_level_cluster(), exchange, 0.1).bytes, 1e6 + 4 * blocks);
}

TEST(IslandExchangeTimes, OfFragmentsHideBehindTheStepsOfTheirDelay) {
  ExchangePlan exchange = kTwo;
  exchange.fragments = 4;
  exchange.delay = 5;  // half a second, of the 1.04 that a fragment takes
  const IslandTimes times = island_times(two_level_cluster(), exchange, 0.1);
  EXPECT_NEAR(times.exposed_seconds, 4 * (1.04 - 0.5), 1e-9);
  exchange.delay = 11;
  EXPECT_EQ(island_times(two_level_cluster(), exchange, 0.1).exposed_seconds, 0);
}

TEST(IslandExchangeTimes, OfFragmentsThatFollowEachOtherUseBothDirectionsOfTheLink) {
  ExchangePlan exchange = kTwo;
  exchange.fragments = 4;
  exchange.every = 20;  // one leaves every half second, as long as the link takes in a direction
  const auto exposed = [&](int64_t delay) {
    exchange.delay = delay;
    return island_times(two_level_cluster(), exchange, 0.1).exposed_seconds;
  };
  EXPECT_NEAR(exposed(5), 4 * (1.04 - 0.5), 1e-9);
  EXPECT_NEAR(exposed(10), 4 * (1.04 / 2 - 0.5), 1e-9);
  EXPECT_NEAR(exposed(15), 0, 1e-9);
  // No delay gives more than the link carries.
  exchange.every = 16;
  EXPECT_NEAR(exposed(12), 4 * (0.5 - 0.4), 1e-9);
}

TEST(IslandExchangeTimes, AClusterThatIsTooSmallIsRefused) {
  ExchangePlan exchange = kTwo;
  exchange.islands = 5;
  EXPECT_EQ(user_error_of([&] { island_times(two_level_cluster(), exchange, 0.1); }),
            "5 islands of 2 ranks are 10 ranks, but cluster three-sites has 8");
}

TEST(SlowLevel, IsTheFirstThatRanksSpanAndThatIsSlow) {
  const Cluster cluster = two_level_cluster();
  EXPECT_EQ(slow_level(cluster, 2), nullptr);
  ASSERT_NE(slow_level(cluster, 3), nullptr);
  EXPECT_EQ(slow_level(cluster, 3)->name, "lines");
  EXPECT_EQ(slow_level(load_cluster("three-sites"), 96)->name, "lines");
  for (const char* within : {"dgx-h100", "llama3-h100", "tpu-v5p", "gaudi3"}) {
    const Cluster room = load_cluster(within);
    EXPECT_EQ(slow_level(room, room.levels.back().ranks), nullptr) << within;
  }
}

}  // namespace
}  // namespace tessera
