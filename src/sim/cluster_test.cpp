// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "sim/named_clusters.h"
#include "sim/testing/toy_cluster.h"

namespace tessera {
namespace {

std::string refusal(const std::string& toml) {
  try {
    parse_cluster(toml, "toy.toml");
  } catch (const UserError& error) {
    return error.message() + " at " + error.place();
  }
  return "accepted";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Cluster, EveryNamedFileReadsAndHasItsOwnName) {
  ASSERT_GE(named_clusters().size(), 4U);
  for (const NamedCluster& each : named_clusters())
    EXPECT_EQ(load_cluster(std::string(each.name)).name, each.name);
}

TEST(Cluster, TheLlama3ClusterHasThePublishedNetwork) {
  const Cluster cluster = load_cluster("llama3-h100");
  ASSERT_EQ(cluster.levels.size(), 4U);
  EXPECT_DOUBLE_EQ(cluster.device.peak(DType::Bf16), 989.4e12);
  EXPECT_EQ(cluster.levels[0].ranks, 8);
  EXPECT_EQ(cluster.levels[1].ranks, 16);
  EXPECT_EQ(cluster.levels[2].ranks, 3072);
  EXPECT_EQ(cluster.levels[3].ranks, 24576);
  EXPECT_DOUBLE_EQ(cluster.levels[3].rate(), 50e9 / 7);
}

TEST(Cluster, LargeMeshesDefaultToTheLlama3Cluster) {
  EXPECT_EQ(default_cluster_name(64), "laptop");
  EXPECT_EQ(default_cluster_name(65), "llama3-h100");
}

TEST(Cluster, WhatIsWrittenReadsBackTheSame) {
  Cluster cluster = toy_nodes();
  cluster.collectives = {{"all_reduce", 2, "toy", {{8, 0.5}, {16, 0.75}}}};
  cluster.device.cores = 2;
  cluster.moves_in_wait = true;
  cluster.algorithm = CollectiveAlgorithm::Tree;
  cluster.efficiencies.push_back({"matmul", 2, 1, "toy", {{{8, 16, 32}, 0.5}}});
  const std::string text = to_toml(cluster);
  EXPECT_EQ(to_toml(parse_cluster(text, "toy.toml")), text);
  const Cluster read = parse_cluster(text, "toy.toml");
  EXPECT_EQ(read.device.cores, 2);
  EXPECT_EQ(read.efficiencies.back().threads, 2);
  EXPECT_EQ(read.collectives.front().points.back(), (std::pair{16.0, 0.75}));
  EXPECT_EQ(read.algorithm, CollectiveAlgorithm::Tree);
}

TEST(Cluster, AFigureWithoutASourceIsRefused) {
  const std::string figure = "memory_bytes = { value = 1e+09, source = \"toy\" }";
  for (const std::string bare : {"memory_bytes = 1e9", "memory_bytes = { value = 1e+09 }"})
    EXPECT_EQ(refusal(replaced(to_toml(toy_cluster()), figure, bare)),
              "memory_bytes has no value and source at toy.toml:11");
}

// A rank of 1e300 bytes had less than none, and steps of endless seconds took 0.
TEST(Cluster, FiguresBeyondAllClustersAreRefused) {
  const std::string figure = "memory_bytes = { value = 1e+09, source = \"toy\" }";
  for (const std::string value : {"inf", "nan", "1e300", "-1", "true"})
    EXPECT_EQ(refusal(replaced(to_toml(toy_cluster()), figure,
                               "memory_bytes = { value = " + value + ", source = \"toy\" }")),
              "memory_bytes is not a number from 0 to 1e+18 at toy.toml:11");
  for (const std::string value : {"0", "-0.0", "1e-300"})
    EXPECT_EQ(refusal(replaced(to_toml(toy_cluster()), figure,
                               "memory_bytes = { value = " + value + ", source = \"toy\" }"))
                  .find("memory_bytes is "),
              0U)
        << value;
}

TEST(Cluster, NamesOfAnyTextReadBack) {
  Cluster cluster = toy_cluster();
  cluster.name = cluster.device.name = cluster.levels[0].name = "a \"b\" \\ c\n\u00e9";
  cluster.efficiencies[0].source = cluster.device.memory_bytes.source = "read \"here\"";
  cluster.collectives = {{"all_reduce", 2, "\"", {{8, 0.5}}}};
  EXPECT_EQ(to_toml(parse_cluster(to_toml(cluster), "toy.toml")), to_toml(cluster));
}

TEST(Cluster, AMisspeltKeyIsRefused) {
  EXPECT_EQ(refusal(replaced(to_toml(toy_cluster()), "launch_seconds", "lunch_seconds")),
            "[device] has no launch_seconds at toy.toml:9");
  EXPECT_EQ(refusal(to_toml(toy_cluster()) + "\n[levels]\n"),
            "unknown key levels in the file at toy.toml:33");
}

TEST(Cluster, LevelsMustNest) {
  EXPECT_EQ(refusal(replaced(to_toml(toy_nodes()), "ranks = 16", "ranks = 6")),
            "level all has 6 ranks: not a multiple of the 4 of the level inside it at toy.toml:1");
}

TEST(Cluster, ADtypeWithoutAPeakHasThatOfFp32) {
  EXPECT_DOUBLE_EQ(toy_cluster().device.peak(DType::Bf16), 1e9);
}

}  // namespace
}  // namespace tessera
