// SPDX-License-Identifier: Apache-2.0
#include "jobs/speed_curve.h"

#include <gtest/gtest.h>

#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

// A run of 1000 s of work for one node, and `fixed_seconds` that more nodes do not shorten; fewer
// than `fits_from` nodes have no room.
PlanNodes nodes_with(double fixed_seconds, int fits_from = 1, std::vector<int>* planned = nullptr) {
  return [=](int nodes) {
    if (planned) planned->push_back(nodes);
    PlannedNodes row{.nodes = nodes, .ranks = nodes};
    if (nodes < fits_from) row.problem = "too large";
    row.run_seconds = 1000.0 / nodes + fixed_seconds;
    return row;
  };
}

std::vector<int> counts(const SpeedCurve& curve) {
  std::vector<int> all;
  for (const PlannedNodes& row : curve.rows) all.push_back(row.nodes);
  return all;
}

// Added nodes do half of their work as long as half of the time shrinks with them: up to 8, where
// 125 s do and 100 s do not; 16 would have 62.5 against 100.
TEST(SpeedCurve, EndsWhereAddedNodesDoLessThanHalf) {
  const SpeedCurve curve = speed_curve({}, 1024, nodes_with(100));
  EXPECT_EQ(curve.range, (NodeRange{2, 8}));
  EXPECT_EQ(counts(curve), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 16}));
}

TEST(SpeedCurve, UsesAllNodesThatThereAreWhereAllPay) {
  EXPECT_EQ(speed_curve({}, 4, nodes_with(0)).range, (NodeRange{1, 4}));
}

TEST(SpeedCurve, BeginsWhereTheModelFits) {
  EXPECT_EQ(speed_curve({}, 16, nodes_with(0, 6)).range, (NodeRange{6, 16}));
  EXPECT_EQ(user_error_of([] { speed_curve({}, 4, nodes_with(0, 6)); }),
            "no plan was found for any number of nodes; on 4 nodes: too large");
}

TEST(SpeedCurve, PlansEachCountOnceAndOnlyThoseAskedFor) {
  std::vector<int> planned;
  const SpeedCurve curve = speed_curve(NodeRange{3, 20}, 1024, nodes_with(0, 1, &planned));
  EXPECT_EQ(curve.range, (NodeRange{3, 20}));
  EXPECT_EQ(counts(curve), (std::vector<int>{3, 4, 5, 6, 7, 8, 12, 16, 20}));
  EXPECT_EQ(planned.size(), curve.rows.size());
}

TEST(NodeRange, IsANumberOrTwo) {
  EXPECT_EQ(parse_node_range("4", ""), (NodeRange{4, 4}));
  EXPECT_EQ(parse_node_range("2-8", ""), (NodeRange{2, 8}));
  for (const char* wrong : {"", "0", "8-2", "2-", "a", "2-4-8", "2.5"})
    EXPECT_NE(user_error_of([&] { parse_node_range(wrong, "--nodes"); }).find("is no range"),
              std::string::npos)
        << wrong;
}

}  // namespace
}  // namespace tessera
