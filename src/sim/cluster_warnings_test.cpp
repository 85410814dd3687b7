// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster_warnings.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Warnings = std::vector<std::string>;

TEST(ClusterWarnings, NoneIsGivenForTheFilesThatComeAlong) {
  for (const std::string& name : cluster_names())
    EXPECT_EQ(unlikely_figures(load_cluster(name)), Warnings{}) << name;
}

TEST(ClusterWarnings, ABandwidthInGigabytesIsToldOf) {
  Cluster cluster = load_cluster("dgx-h100");
  cluster.levels[0].bandwidth.value = 448;
  EXPECT_EQ(
      unlikely_figures(cluster),
      Warnings{"bandwidth of level node is 448 bytes per second, less than that of any link: if "
               "it is in billions, write 448e9"});
}

TEST(ClusterWarnings, EveryFigureOfAnotherUnitIsToldOf) {
  Cluster cluster = load_cluster("dgx-h100");
  cluster.device.memory_bytes.value = 80;
  cluster.device.memory_bandwidth.value = 3350;
  cluster.device.peak_flops.front().second.value = 1979;
  cluster.levels[1].latency_seconds.value = 8;
  EXPECT_EQ(unlikely_figures(cluster).size(), 4U);
}

TEST(ClusterWarnings, TensorParallelismBeyondANodeIsToldOf) {
  const Cluster cluster = load_cluster("dgx-h100");
  const auto warnings = [&](std::vector<Axis> axes) {
    return near_axes_across_nodes(cluster, Mesh(std::move(axes)));
  };
  EXPECT_EQ(
      warnings({{"dp", 2}, {"tp", 16}}),
      Warnings{
          "tp=16 spans more than the node of 8 ranks: its sums, four in every layer, "
          "cross the unit at 48 GB/s per rank instead of 360; keep tp within 8 ranks, and last in "
          "the mesh"});
  EXPECT_EQ(warnings({{"tp", 2}, {"dp", 8}}).size(), 1U);
  EXPECT_EQ(warnings({{"dp", 16}, {"tp", 8}}), Warnings{});
  EXPECT_EQ(warnings({{"dp", 16}}), Warnings{});
  EXPECT_EQ(near_axes_across_nodes(load_cluster("laptop"), Mesh({{"tp", 4}})), Warnings{});
}

TEST(ClusterWarnings, ExpertParallelismBeyondANodeIsToldOf) {
  const Cluster cluster = load_cluster("dgx-h100");
  const auto warnings = [&](std::vector<Axis> axes, std::vector<std::string> experts) {
    return experts_across_nodes(cluster,
                                make_plan({.mesh = std::move(axes), .experts = std::move(experts)},
                                          {.kv_heads = 8, .heads = 8, .experts = 64}));
  };
  EXPECT_EQ(warnings({{"dp", 2}, {"ep", 16}}, {"ep"}),
            Warnings{"ep=16 spans more than the node of 8 ranks: the rows of tokens, four times in "
                     "every layer, cross the unit at 48 GB/s per rank instead of 360; put ep after "
                     "the data axes, or keep it within 8 ranks"});
  EXPECT_EQ(warnings({{"ep", 2}, {"cp", 8}}, {"cp"}), Warnings{});
  EXPECT_EQ(warnings({{"dp", 16}, {"ep", 8}}, {"ep"}), Warnings{});
  EXPECT_EQ(warnings({{"ep", 4}, {"tp", 4}}, {"ep", "tp"}).size(), 1U);
}

}  // namespace
}  // namespace tessera
