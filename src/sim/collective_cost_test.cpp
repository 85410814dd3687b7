// SPDX-License-Identifier: Apache-2.0
#include "sim/collective_cost.h"

#include <gtest/gtest.h>

#include "ir/op_list.h"
#include "sim/testing/toy_cluster.h"

namespace tessera {
namespace {

using Algorithm = CollectiveAlgorithm;

TEST(CollectiveCost, ARingOfOneNodeIsAlphaAndBeta) {
  const Cluster cluster = toy_nodes();
  // Two passes of three hops, 100 bytes each.
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, Algorithm::Ring, CollectiveOp::AllReduce, {4}, 400),
                   12);
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, Algorithm::Ring, CollectiveOp::AllGather, {4}, 400),
                   6);
}

TEST(CollectiveCost, AlgorithmsOfTwoNodesAreAsWorkedOutByHand) {
  const Cluster cluster = toy_nodes();
  const GroupShape shape{4, 8};
  // Inside 3 (1 + 100 / 100), between 1 (2 + 50 / 10).
  EXPECT_DOUBLE_EQ(
      collective_seconds(cluster, Algorithm::Hierarchical, CollectiveOp::ReduceScatter, shape, 400),
      13);
  // Four links of 10 leave a node: 7 (2 + 50 / 40).
  EXPECT_DOUBLE_EQ(
      collective_seconds(cluster, Algorithm::Ring, CollectiveOp::AllGather, shape, 400), 22.75);
  // Two hops of 1 s, one of 2 s, 400 bytes at 40, up and down.
  EXPECT_DOUBLE_EQ(
      collective_seconds(cluster, Algorithm::Tree, CollectiveOp::AllReduce, shape, 400), 28);
  EXPECT_DOUBLE_EQ(
      collective_seconds(cluster, Algorithm::Fastest, CollectiveOp::AllReduce, shape, 400), 26);
}

TEST(CollectiveCost, FewBytesTakeLongerThanAtBandwidth) {
  Cluster cluster = toy_nodes();
  const auto seconds = [&](double bytes) {
    return collective_seconds(cluster, Algorithm::Ring, CollectiveOp::AllGather, {4}, bytes);
  };
  const double latency = seconds(0), large = seconds(400) - latency, small = seconds(100) - latency;
  cluster.levels[0].ramp_bytes.value = 400;
  EXPECT_DOUBLE_EQ(seconds(400) - latency, 2 * large);
  EXPECT_DOUBLE_EQ(seconds(100) - latency, 3 * small);
}

TEST(CollectiveCost, OneSendHasItsOwnBandwidthAndCollectivesKeepTheirs) {
  Cluster cluster = toy_nodes();
  const double gathered = collective_seconds(cluster, CollectiveOp::AllGather, {4}, 400);
  const double sent = send_seconds(cluster, {4}, 400);
  EXPECT_DOUBLE_EQ(sent, collective_seconds(cluster, CollectiveOp::Shift, {4}, 400));
  cluster.levels[0].send_bandwidth.value = cluster.levels[0].bandwidth.value / 5;
  const double latency = cluster.levels[0].latency_seconds.value;
  EXPECT_DOUBLE_EQ(send_seconds(cluster, {4}, 400), latency + 5 * (sent - latency));
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::AllGather, {4}, 400), gathered);
  cluster.levels[0].send_bandwidth.value = 10 * cluster.levels[0].bandwidth.value;
  EXPECT_DOUBLE_EQ(send_seconds(cluster, {4}, 400), sent);
}

TEST(CollectiveCost, AllToAllWaitsForTheSlowestLevel) {
  // Of 80 bytes, 10 to each: 40 leave the node at 10 per second.
  EXPECT_DOUBLE_EQ(collective_seconds(toy_nodes(), CollectiveOp::AllToAll, {4, 8}, 80), 6);
}

TEST(CollectiveCost, OversubscriptionDividesTheBandwidth) {
  Cluster cluster = toy_nodes();
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::Shift, {4, 8}, 80), 10);
  cluster.levels[1].oversubscription.value = 2;
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::Shift, {4, 8}, 80), 18);
}

TEST(CollectiveCost, InnerAxesStayInsideANode) {
  const Cluster cluster = toy_nodes();
  const Mesh mesh({{"dp", 4}, {"tp", 4}});
  EXPECT_EQ(group_shapes(cluster, mesh, {1}), (std::vector<GroupShape>{{4}}));
  EXPECT_EQ(group_shapes(cluster, mesh, {0}), (std::vector<GroupShape>{{1, 4}}));
  EXPECT_EQ(group_shapes(cluster, mesh, {0, 1}), (std::vector<GroupShape>{{4, 16}}));
}

TEST(CollectiveCost, GroupsThatDoNotFitNodesHaveSeveralShapes) {
  // Of 0-2, 3-5, 6-8 and 9-11 only the first and the last stay inside a node.
  const Mesh mesh({{"dp", 4}, {"tp", 3}});
  EXPECT_EQ(group_shapes(toy_nodes(), mesh, {1}), (std::vector<GroupShape>{{2, 3}, {3}}));
}

TEST(CollectiveCost, AMeasuredTableIsReadBetweenItsPoints) {
  Cluster cluster = toy_nodes();
  cluster.collectives = {{CollectiveOp::AllReduce, 2, "toy", {{100, 1}, {300, 2}}}};
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::AllReduce, {2}, 50), 1);
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::AllReduce, {2}, 200), 1.5);
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::AllReduce, {2}, 600), 4);
  cluster.device.cores = 4;  // shared memory: twice the ranks take twice as long
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::AllReduce, {4}, 200), 3);
  cluster.device.cores = 0;  // links of their own: three quarters leave a rank instead of half
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::AllReduce, {4}, 200), 2.25);
}

TEST(CollectiveCost, AGroupOfOneIsFree) {
  EXPECT_DOUBLE_EQ(collective_seconds(toy_nodes(), CollectiveOp::AllReduce, {1}, 400), 0);
}

TEST(CollectiveCost, ATableOfALevelIsForGroupsThatReachNoFurther) {
  Cluster cluster = toy_nodes();
  const double links = collective_seconds(cluster, CollectiveOp::AllToAll, {4, 8}, 80);
  cluster.collectives = {{CollectiveOp::AllToAll, 4, "toy", {{80, 7}}, "node"}};
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::AllToAll, {4}, 80), 7);
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::AllToAll, {4, 8}, 80), links);
  // Rows have a table of their own, or else that of parts.
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::PutRows, {4}, 80), 7);
  cluster.collectives.push_back({CollectiveOp::PutRows, 4, "toy", {{80, 5}}, "node"});
  EXPECT_DOUBLE_EQ(collective_seconds(cluster, CollectiveOp::PutRows, {4}, 80), 5);
}

// The figures of the brief for 128 experts of which a token chooses 8.
TEST(CollectiveCost, ATokenNeedsFewerRanksThanExperts) {
  const RowTraffic qwen{.copies = RowCopies::PerNode, .experts = 128, .top_k = 8};
  EXPECT_NEAR(expected_units(qwen, 2), 1.99, 0.01);
  EXPECT_NEAR(expected_units(qwen, 8), 5.34, 0.01);
  EXPECT_NEAR(expected_units(qwen, 64), 7.78, 0.01);
  EXPECT_DOUBLE_EQ(expected_units(qwen, 1), 1);
  EXPECT_DOUBLE_EQ(expected_units({.copies = RowCopies::PerNode, .experts = 4, .top_k = 4}, 2), 2);
}

TEST(CollectiveCost, ACopyPerNodeCrossesNodesOnceAndIsPassedOnInside) {
  const Cluster cluster = toy_nodes();
  const auto seconds = [&](RowCopies copies, const GroupShape& shape) {
    return row_seconds(cluster, CollectiveOp::PutRows, shape, 80,
                       {.copies = copies, .experts = 8, .top_k = 8});
  };
  EXPECT_DOUBLE_EQ(seconds(RowCopies::PerExpert, {4, 8}), 6);  // 40 bytes leave the node at 10
  // A token of 10 bytes goes to both nodes, half of it over links between them: 2 + 10 / 10;
  // inside, to all 8 ranks, three quarters of it over links: 60 bytes at 100.
  EXPECT_DOUBLE_EQ(seconds(RowCopies::PerNode, {4, 8}), 3);
  EXPECT_DOUBLE_EQ(seconds(RowCopies::PerNode, {1}), 0);
}

}  // namespace
}  // namespace tessera
