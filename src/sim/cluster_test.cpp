// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "ir/op_list.h"
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
  EXPECT_DOUBLE_EQ(cluster.device.peak(Arithmetic::Bf16), 989.4e12);
  EXPECT_EQ(cluster.levels[0].ranks, 8);
  EXPECT_EQ(cluster.levels[1].ranks, 16);
  EXPECT_EQ(cluster.levels[2].ranks, 3072);
  EXPECT_EQ(cluster.levels[3].ranks, 24576);
  EXPECT_DOUBLE_EQ(cluster.levels[3].rate(), 48e9 / 7);
}

TEST(Cluster, EveryFigureOfANamedFileHasASource) {
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = load_cluster(name);
    EXPECT_FALSE(cluster.device.memory_bytes.source.empty()) << name;
    EXPECT_FALSE(cluster.device.memory_bandwidth.source.empty()) << name;
    for (const auto& [arithmetic, peak] : cluster.device.peak_flops)
      EXPECT_FALSE(peak.source.empty()) << name;
    for (const Level& level : cluster.levels) {
      EXPECT_FALSE(level.bandwidth.source.empty()) << name << " " << level.name;
      EXPECT_FALSE(level.latency_seconds.source.empty()) << name << " " << level.name;
    }
    for (const EfficiencyTable& table : cluster.efficiencies)
      EXPECT_FALSE(table.source.empty()) << name;
  }
}

TEST(Cluster, TorusesHaveThePublishedShapes) {
  EXPECT_EQ(load_cluster("tpu-v5e").levels[0].torus, (std::vector<int>{16, 16}));
  EXPECT_EQ(load_cluster("tpu-v5p").levels[0].torus, (std::vector<int>{16, 16, 24}));
  EXPECT_EQ(load_cluster("tpu-v6e").levels[0].torus, (std::vector<int>{16, 16}));
  const Cluster trainium = load_cluster("trainium2");
  EXPECT_EQ(trainium.levels[0].torus, (std::vector<int>{4, 4}));
  EXPECT_EQ(trainium.levels[1].torus, (std::vector<int>{4}));
  EXPECT_TRUE(load_cluster("mi300x").levels[0].fully_connected);
}

TEST(Cluster, ATorusHasAsManyRanksAsItsUnits) {
  const std::string level = "oversubscription = { value = 1, source = \"none\" }\n";
  const auto with = [&](const std::string& key) {
    return refusal(replaced(to_toml(toy_cluster()), level, level + key));
  };
  EXPECT_EQ(with("torus = [4, 4]\n"), "accepted");
  EXPECT_EQ(with("fully_connected = true\n"), "accepted");
  EXPECT_EQ(with("torus = [4, 8]\n"),
            "level all has 16 ranks, but its torus of 4x8 units of 1 has 32 at toy.toml:21");
  EXPECT_EQ(with("torus = [4, 4]\nfully_connected = true\n"),
            "level all is fully connected and a torus: it can only be one of them at toy.toml:25");
  for (const std::string sizes : {"[]", "[0, 16]", "[2, 2, 2, 2, 1]", "16", "[4.5]"})
    EXPECT_EQ(with("torus = " + sizes + "\n"),
              "torus is not a list of one to four sizes at toy.toml:25");
}

TEST(Cluster, EfficienciesOfAnotherAreScaledForProductsAlone) {
  const Cluster known = load_cluster("dgx-h100");
  const auto with = [](const std::string& more) {
    return to_toml(toy_cluster()) + "\n[efficiencies_of]\n" + more;
  };
  const Cluster cluster = parse_cluster(
      with("cluster = \"dgx-h100\"\nproducts = { value = 0.5, source = \"toy\" }\n"), "toy.toml");
  const auto table_of = [](const Cluster& of, std::optional<OpKind> op) {
    return *std::ranges::find(of.efficiencies, op, &EfficiencyTable::op);
  };
  const EfficiencyTable own = table_of(cluster, OpKind::matmul);
  EXPECT_DOUBLE_EQ(own.curve->ceiling, 0.5 * table_of(known, OpKind::matmul).curve->ceiling);
  EXPECT_DOUBLE_EQ(own.curve->memory, table_of(known, OpKind::matmul).curve->memory);
  EXPECT_TRUE(own.source.starts_with("assumed to be those of dgx-h100: ")) << own.source;
  EXPECT_EQ(table_of(cluster, {}).source, "toy");  // the file's own
  EXPECT_EQ(refusal(with("cluster = \"dgx-h1000\"\n")).substr(0, 38),
            "there is no built-in cluster dgx-h1000");
  EXPECT_EQ(refusal(with("products = { value = 0.5, source = \"toy\" }\n")).substr(0, 34),
            "[efficiencies_of] has no cluster a");
}

TEST(Cluster, WhatIsWrittenReadsBackTheSame) {
  Cluster cluster = toy_nodes();
  cluster.levels[0].fully_connected = true;
  cluster.levels[1].torus = {2, 2};
  cluster.unknown = {"what a toy is"};
  cluster.collectives = {{CollectiveOp::AllReduce, 2, "toy", {{8, 0.5}, {16, 0.75}}, "all"}};
  cluster.device.cool_gain = {1.25, "toy"};
  cluster.device.cores = 2;
  cluster.moves_in_wait = true;
  cluster.algorithm = CollectiveAlgorithm::Tree;
  cluster.efficiencies.push_back({OpKind::matmul, 2, 1, "toy", {{{8, 16, 32}, 0.5}}});
  EfficiencyTable curved{.op = OpKind::attention, .source = "toy", .kernel = "flash2"};
  curved.curve = {.ceiling = 0.5, .memory = 0.75, .fill_seconds = 1e-5, .narrow = 20};
  cluster.efficiencies.insert(cluster.efficiencies.begin(), curved);
  const std::string text = to_toml(cluster);
  EXPECT_EQ(to_toml(parse_cluster(text, "toy.toml")), text);
  const Cluster read = parse_cluster(text, "toy.toml");
  EXPECT_EQ(read.device.cores, 2);
  EXPECT_EQ(read.efficiencies.back().threads, 2);
  EXPECT_EQ(read.collectives.front().points.back(), (std::pair{16.0, 0.75}));
  EXPECT_EQ(read.algorithm, CollectiveAlgorithm::Tree);
  EXPECT_EQ(read.efficiencies.front().kernel, "flash2");
  EXPECT_DOUBLE_EQ(read.efficiencies.front().curve->narrow, 20);
}

TEST(Cluster, WhatIsBasedOnAnotherSaysOnlyWhatDiffers) {
  const std::string head = "name = \"mine\"\ncalibrated = false\nbased_on = \"dgx-a100\"\n";
  const Cluster base = load_cluster("dgx-a100");
  Cluster mine = parse_cluster(head, "mine.toml");
  EXPECT_EQ(mine.name, "mine");
  mine.name = base.name;
  EXPECT_EQ(to_toml(mine), to_toml(base));
  mine = parse_cluster(head +
                           "[device]\nmemory_bytes = { value = 40e9, source = \"here\" }\n"
                           "[device.peak_flops]\nbf16 = { value = 1e12, source = \"here\" }\n"
                           "[[efficiency]]\nop = \"attention\"\nkernel = \"flash1\"\n"
                           "source = \"here\"\ncurve = { ceiling = 0.125 }\n",
                       "mine.toml");
  EXPECT_DOUBLE_EQ(mine.device.memory_bytes.value, 40e9);
  EXPECT_DOUBLE_EQ(mine.device.memory_bandwidth.value, base.device.memory_bandwidth.value);
  EXPECT_DOUBLE_EQ(mine.device.peak(Arithmetic::Bf16), 1e12);
  EXPECT_DOUBLE_EQ(mine.device.peak(Arithmetic::Fp32), base.device.peak(Arithmetic::Fp32));
  EXPECT_EQ(mine.efficiencies.size(), base.efficiencies.size());
  EXPECT_DOUBLE_EQ(mine.efficiencies.front().curve->ceiling, 0.125);
  EXPECT_EQ(refusal("based_on = \"abacus\"\n"),
            "there is no cluster abacus to be based on at toy.toml:1");
}

TEST(Cluster, AnEfficiencyHasPointsOrACurve) {
  const std::string text = to_toml(toy_cluster());
  const std::string points = "points = [\n  [1, 1, 0, 1],\n]";
  EXPECT_EQ(refusal(replaced(text, points, "curve = { ceiling = 1 }")), "accepted");
  EXPECT_EQ(refusal(replaced(text, points, points + "\ncurve = { ceiling = 1 }")),
            "an [[efficiency]] has points and a curve at toy.toml:32");
  EXPECT_EQ(refusal(replaced(text, points, "curve = { sealing = 1 }")),
            "a curve has no sealing at toy.toml:29");
  EXPECT_EQ(refusal(replaced(text, points, "curve = { ceiling = 0 }")),
            "the ceiling of a curve is 0: it must be above 0 at toy.toml:29");
}

TEST(Cluster, AFigureWithoutASourceIsRefused) {
  const std::string figure = "memory_bytes = { value = 1e+09, source = \"toy\" }";
  for (const std::string bare : {"memory_bytes = 1e9", "memory_bytes = { value = 1e+09 }"})
    EXPECT_EQ(refusal(replaced(to_toml(toy_cluster()), figure, bare)),
              "memory_bytes has no value and source at toy.toml:11");
}

// A rank of 1e300 bytes overflowed to a negative number, and infinite steps took 0 seconds.
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
  cluster.collectives = {{CollectiveOp::AllReduce, 2, "\"", {{8, 0.5}}}};
  EXPECT_EQ(to_toml(parse_cluster(to_toml(cluster), "toy.toml")), to_toml(cluster));
}

TEST(Cluster, AReserveIsNotUsable) {
  Cluster cluster = toy_cluster();
  EXPECT_DOUBLE_EQ(cluster.device.usable_bytes(), 1e9);
  cluster.device.reserve_bytes = {2.5e8, "toy"};
  cluster = parse_cluster(to_toml(cluster), "toy.toml");
  EXPECT_DOUBLE_EQ(cluster.device.usable_bytes(), 7.5e8);
  for (const std::string& name : cluster_names())
    if (const ClusterDevice device = load_cluster(name).device; device.cores == 0) {
      EXPECT_GT(device.reserve_bytes.value, 0) << name;
      EXPECT_NE(device.reserve_bytes.source, "none") << name;
    }
}

TEST(Cluster, AMisspeltKeyIsRefused) {
  EXPECT_EQ(refusal(replaced(to_toml(toy_cluster()), "launch_seconds", "lunch_seconds")),
            "unknown key lunch_seconds in [device] at toy.toml:13");
  EXPECT_EQ(refusal(to_toml(toy_cluster()) + "\n[levels]\n"),
            "unknown key levels in the file at toy.toml:33");
}

TEST(Cluster, KeysThatAreMissingAreToldOfAllAtOnce) {
  EXPECT_EQ(refusal("name = \"mine\"\n[device]\nname = \"x\"\n[[level]]\nname = \"node\"\n"),
            "the file has no calibrated; [device] has no memory_bytes, memory_bandwidth, "
            "launch_seconds, peak_flops; [rules] has no algorithm, moves_in_wait; the [[level]] of "
            "line 4 has no ranks, bandwidth, latency_seconds; the file has no [[efficiency]] of "
            "op = \"other\", for ops without their own at toy.toml:1");
  EXPECT_EQ(refusal(replaced(to_toml(toy_cluster()), "[[level]]", "[[collective]]\n[[level]]"))
                .find("the [[collective]] of line "),
            0U);
}

TEST(Cluster, TheTemplateReadsAndNamesEveryKey) {
  const std::string text(cluster_template());
  EXPECT_EQ(parse_cluster(text, "template").levels.size(), 2U);
  Cluster whole = toy_cluster();
  whole.device.cores = 2;
  whole.device.cool_gain = {1.25, "toy"};
  whole.collectives = {{CollectiveOp::AllReduce, 2, "toy", {{8, 0.5}}, "all"}};
  whole.efficiencies.push_back({OpKind::matmul, 2, 1, "toy", {{{8, 16, 32}, 0.5}}});
  whole.efficiencies.push_back({.op = OpKind::attention, .source = "toy", .kernel = "flash2"});
  whole.efficiencies.back().curve.emplace();
  for (const Arithmetic each : {Arithmetic::Bf16, Arithmetic::Fp8})
    whole.device.peak_flops.push_back({each, {1e9, "toy"}});
  std::istringstream lines(to_toml(whole));
  for (std::string line; std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find(" = "));
    EXPECT_NE(text.find(key == line ? "" : key + " = "), std::string::npos) << line;
  }
}

TEST(Cluster, LevelsMustNest) {
  EXPECT_EQ(refusal(replaced(to_toml(toy_nodes()), "ranks = 16", "ranks = 6")),
            "level all has 6 ranks: not a multiple of the 4 of the level inside it at toy.toml:28");
}

TEST(Cluster, ArithmeticWithoutAPeakHasThatOfTheNearestWider) {
  ClusterDevice device = toy_cluster().device;
  EXPECT_DOUBLE_EQ(device.peak(Arithmetic::Fp8), 1e9);
  EXPECT_DOUBLE_EQ(device.peak(Arithmetic::Fp64), 1e9);
  device.peak_flops.push_back({Arithmetic::Bf16, {2e9, "toy"}});
  EXPECT_DOUBLE_EQ(device.peak(Arithmetic::Fp8), 2e9);
  EXPECT_DOUBLE_EQ(device.peak(Arithmetic::Fp32), 1e9);
}

std::string precision_refusal(const Cluster& cluster, const std::string& precision) {
  try {
    check_precision(cluster, precision_from_name(precision).value());
  } catch (const UserError& error) {
    return error.message() + "; " + error.advice();
  }
  return "accepted";
}

TEST(Cluster, APrecisionWithoutAPeakIsRefusedByName) {
  const Cluster a100 = load_cluster("dgx-a100");
  EXPECT_EQ(precision_refusal(a100, "pure_fp8"),
            "A100 SXM4 80 GB of cluster dgx-a100 has no peak_flops.fp8, which precision "
            "pure_fp8 needs; use bf16, fp32 or fp64, for which the cluster has peaks, or "
            "another cluster");
  for (const std::string has : {"bf16", "pure_bf16", "fp32", "fp64"})
    EXPECT_EQ(precision_refusal(a100, has), "accepted");
  Cluster narrow = toy_cluster();
  narrow.device.peak_flops = {{Arithmetic::Bf16, {1e9, "toy"}}};
  EXPECT_EQ(precision_refusal(narrow, "fp32"),
            "toy device of cluster toy has no peak_flops.fp32, which precision fp32 needs; "
            "use bf16, for which the cluster has peaks, or another cluster");
}

// They round to narrower numbers, and multiply those in fp32.
TEST(Cluster, CoresWithAPeakOfFp32HaveEveryPrecisionButFp64) {
  Cluster cores = toy_cluster();
  cores.device.cores = 2;
  for (const std::string has : {"fp32", "bf16", "pure_bf16", "fp8", "pure_fp8"})
    EXPECT_EQ(precision_refusal(cores, has), "accepted");
  EXPECT_NE(precision_refusal(cores, "fp64"), "accepted");
}

}  // namespace
}  // namespace tessera
