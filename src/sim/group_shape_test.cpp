// SPDX-License-Identifier: Apache-2.0
#include "sim/group_shape.h"

#include <gtest/gtest.h>

#include "sim/collective_cost.h"
#include "sim/testing/toy_cluster.h"

namespace tessera {
namespace {

// 4 x 8 devices on a torus of links with 10 bytes per second and 1 s; two of them at 2 per second.
Cluster toy_torus() {
  Cluster cluster = toy_cluster();
  cluster.levels = {
      {.name = "torus",
       .ranks = 32,
       .bandwidth = {10, "toy"},
       .latency_seconds = {1, "toy"},
       .torus = {4, 8}},
      {.name = "all", .ranks = 64, .bandwidth = {2, "toy"}, .latency_seconds = {5, "toy"}}};
  return cluster;
}

GroupShape shape_of(const Cluster& cluster, const Mesh& mesh, const AxisIds& axes) {
  const std::vector<GroupShape> shapes = group_shapes(cluster, mesh, axes);
  EXPECT_EQ(shapes.size(), 1U);
  return shapes.front();
}

double gather(const Cluster& cluster, const Mesh& mesh, const AxisIds& axes, double bytes) {
  return collective_seconds(cluster, CollectiveAlgorithm::Hierarchical, CollectiveOp::AllGather,
                            shape_of(cluster, mesh, axes), bytes);
}

TEST(Torus, AWholeLineIsARingOfLinksInBothDirections) {
  const Cluster cluster = toy_torus();
  const Mesh mesh({{"dp", 4}, {"tp", 8}});
  // tp: seven eighths of 160 bytes at 2 x 10, in 7 / 2 hops.
  EXPECT_DOUBLE_EQ(gather(cluster, mesh, {1}, 160), 3.5 + 140 / 20.0);
  // dp: the other dimension, a ring of four.
  EXPECT_DOUBLE_EQ(gather(cluster, mesh, {0}, 160), 1.5 + 120 / 20.0);
}

TEST(Torus, APartOfALineHasNoWayRound) {
  const Mesh mesh({{"dp", 8}, {"tp", 4}});
  // Four neighbours: the first one gets all that it lacks over one link, in three hops.
  EXPECT_DOUBLE_EQ(gather(toy_torus(), mesh, {1}, 160), 3 + 120 / 10.0);
}

TEST(Torus, LinesThatInterleaveShareTheLinksBetweenTheirMembers) {
  const Cluster cluster = toy_torus();
  const Mesh mesh({{"pp", 4}, {"dp", 2}, {"tp", 4}});
  // dp: members 0 and 4 of a ring of 8, and four groups on it; each has a quarter of two links.
  const GroupShape dp = shape_of(cluster, mesh, {1});
  EXPECT_DOUBLE_EQ(dp.links(cluster.levels[0], 0), 0.5);
  EXPECT_DOUBLE_EQ(gather(cluster, mesh, {1}, 160), 2 + 80 / 5.0);
}

TEST(Torus, AGroupOverBothDimensionsUsesTheLinksOfBoth) {
  const Cluster cluster = toy_torus();
  // 31 of 32 parts at 4 x 10; (7 + 3) / 2 hops.
  EXPECT_DOUBLE_EQ(gather(cluster, Mesh({{"dp", 32}}), {0}, 320), 5 + 310 / 40.0);
  // Over two of them: half of the 20 bytes of each rank cross between them, too.
  EXPECT_DOUBLE_EQ(gather(cluster, Mesh({{"dp", 64}}), {0}, 640), 5 + 620 / 40.0 + 5 + 10 / 2.0);
}

TEST(Torus, ARingOfTwoHasOneLink) {
  Cluster cluster = toy_torus();
  cluster.levels[0].torus = {16, 2};
  const Mesh mesh({{"dp", 16}, {"tp", 2}});
  EXPECT_DOUBLE_EQ(gather(cluster, mesh, {1}, 160), 1 + 80 / 10.0);
}

// On a ring of n a link carries n / 8 of what a rank sends.
TEST(Torus, AnExchangeTravelsAQuarterOfTheRing) {
  const Cluster cluster = toy_torus();
  const Mesh mesh({{"dp", 4}, {"ep", 8}});
  EXPECT_DOUBLE_EQ(
      collective_seconds(cluster, CollectiveOp::AllToAll, shape_of(cluster, mesh, {1}), 160),
      1 + 160 / 10.0);
}

TEST(Torus, AShiftPassesTheDevicesBetween) {
  const Cluster cluster = toy_torus();
  const Mesh mesh({{"cp", 2}, {"dp", 4}, {"tp", 4}});
  const auto seconds = [&](int axis) {
    return collective_seconds(cluster, CollectiveOp::Shift, shape_of(cluster, mesh, {axis}), 40);
  };
  EXPECT_DOUBLE_EQ(seconds(2), 1 + 4.0);
  EXPECT_DOUBLE_EQ(seconds(0), 2 * (1 + 4.0));  // two rows on
}

// A pair of devices has one of the links of each, all eight have seven.
TEST(FullyConnected, AGroupHasALinkToEachOfItsMembers) {
  Cluster cluster = toy_cluster();
  cluster.levels = {{.name = "node",
                     .ranks = 8,
                     .bandwidth = {10, "toy"},
                     .latency_seconds = {1, "toy"},
                     .fully_connected = true}};
  const Mesh mesh({{"dp", 4}, {"tp", 2}});
  EXPECT_DOUBLE_EQ(gather(cluster, mesh, {1}, 160), 1 + 80 / 10.0);
  EXPECT_DOUBLE_EQ(gather(cluster, Mesh({{"dp", 8}}), {0}, 160), 1 + 140 / 70.0);
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::AllToAll, {8}, 160), 1 + 140 / 70.0);
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::Shift, {8}, 160), 1 + 16.0);
}

// Published: 47.7 GB/s of two, which is the file's bandwidth, and 312.9 GB/s of eight, which is
// not.
TEST(FullyConnected, EightMi300xAreNearThePublishedRate) {
  const double bytes = 4.0 * (1LL << 30);
  const double seconds =
      collective_seconds(load_cluster("mi300x"), CollectiveOp::AllReduce, {8}, bytes);
  EXPECT_NEAR(2 * 7 / 8.0 * bytes / seconds / 312.9e9, 1, 0.08);
}

}  // namespace
}  // namespace tessera
