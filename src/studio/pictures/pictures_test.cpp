// SPDX-License-Identifier: Apache-2.0
#include "studio/pictures/pictures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "files/folder.h"
#include "report/record_simulation.h"
#include "studio/cluster_json.h"
#include "studio/pictures/cluster_svg.h"
#include "studio/pictures/run_pictures.h"
#include "studio/runs/run_plan.h"
#include "system/random_name.h"

namespace tessera {
namespace {

SimulatedStep step_of(const std::vector<std::string>& overrides,
                      const std::string& cluster_name = "dgx-h100") {
  const Config config = load_config({}, overrides);
  const Cluster cluster = load_cluster(cluster_name);
  return simulate_step(config, cluster, spec_to_simulate(cluster, config), {.keep_slices = true});
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Pictures, OfEveryKindAreClosedAndAlikeEachTime) {
  for (const std::vector<std::string>& plan :
       {std::vector<std::string>{"mesh.dp=1"}, {"mesh.pp=2", "mesh.tp=2", "train.microbatches=4"}})
    for (const PictureRow& row : kPictures) {
      const std::string svg = row.draw(step_of(plan));
      EXPECT_EQ(svg, row.draw(step_of(plan))) << row.name;
      EXPECT_TRUE(svg.starts_with("<svg") && svg.ends_with("</svg>\n")) << row.name;
      EXPECT_EQ(count(svg, "<rect") + count(svg, "<text"),
                count(svg, "</rect>") + count(svg, "/>\n") + count(svg, "</text>") -
                    count(svg, "<line") - count(svg, "<path"))
          << row.name;
      for (const char* wrong : {"nan", "inf\"", "=\"-"}) EXPECT_EQ(count(svg, wrong), 0) << svg;
    }
}

TEST(Pictures, ABlockUnderTensorParallelismShowsTwoCollectivesEachWay) {
  const std::string svg = kPictures[1].draw(step_of({"mesh.tp=2"}));
  EXPECT_EQ(count(svg, "<title>all_reduce tp: forward layer.2"), 2) << svg;
  EXPECT_EQ(count(svg, "<title>all_reduce tp: backward layer.2"), 2) << svg;
}

TEST(Pictures, ABlockOfShardedStatesGathersTheNextBlockMeanwhile) {
  const std::string svg = kPictures[1].draw(step_of({"mesh.fsdp=2"}));
  EXPECT_EQ(count(svg, "<title>all_gather fsdp: gather layer.3"), 1) << svg;
  EXPECT_EQ(count(svg, "<title>reduce_scatter fsdp: reduce layer.3"), 1) << svg;
}

TEST(Pictures, AStepOfAPipelineHasABoxForEachMicrobatchAndDirection) {
  const std::string svg =
      kPictures[0].draw(step_of({"mesh.pp=2", "train.microbatches=4", "model.layers=8"}));
  for (int microbatch = 0; microbatch < 4; ++microbatch)
    EXPECT_EQ(count(svg, fmt::format(">{}</text>", microbatch)), microbatch == 0 ? 5 : 4)
        << svg;  // 0 is a tick, too
}

TEST(Pictures, OfATraceAreThoseOfTheSimulationItWasWrittenFrom) {
  const SimulatedStep step = step_of({"mesh.pp=2", "train.microbatches=4"});
  const Timeline told = timeline_of(step);
  const auto read =
      timeline_of_trace(parse_json(to_trace_json(step.compiled.programs, step.simulation)));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->ranks.size(), told.ranks.size());
  for (size_t i = 0; i < told.ranks.size(); ++i) {
    EXPECT_EQ(read->ranks[i].kernels.size(), told.ranks[i].kernels.size());
    ASSERT_EQ(read->ranks[i].transfers.size(), told.ranks[i].transfers.size());
    for (size_t t = 0; t < told.ranks[i].transfers.size(); ++t)
      EXPECT_EQ(read->ranks[i].transfers[t].axes, told.ranks[i].transfers[t].axes);
  }
  EXPECT_NEAR(read->seconds, told.seconds, 1e-6);
}

TEST(Pictures, OfAMeshHaveABoxForEachRankInItsNode) {
  const std::string svg = draw_mesh(step_of({"mesh.dp=4", "mesh.tp=4"}));
  EXPECT_EQ(count(svg, ">node "), 2);
  EXPECT_EQ(count(svg, ">node 1</text>"), 1);
  for (int rank = 0; rank < 16; ++rank)
    EXPECT_GE(count(svg, fmt::format(">{}</text>", rank)), 1) << rank;
  EXPECT_NE(svg.find("links: node"), std::string::npos);  // tp stays in a node
  EXPECT_NE(svg.find("links: unit"), std::string::npos);  // dp does not
}

TEST(Pictures, MemoryClimbsToThePlannedPeakWithAndWithoutRecomputation) {
  for (const std::string recompute : {"none", "block"}) {
    const SimulatedStep step =
        step_of({"plan.recompute=" + recompute, "mesh.pp=2", "train.microbatches=4"});
    const std::string svg = draw_memory(step);
    const size_t path = svg.find("<path class=\"d\" d=\"M"), end = svg.find('"', path + 22);
    ASSERT_NE(path, std::string::npos);
    double top = INFINITY;
    for (size_t at = svg.find('V', path); at < end; at = svg.find('V', at + 1))
      top = std::min(top, std::stod(svg.substr(at + 1)));
    // The chart is 190 high from y = 78 on and has 6 % of room above the peak.
    EXPECT_NEAR(top, 78 + 190 * (1 - 1 / 1.06), 2.0) << recompute << svg;
  }
}

TEST(Pictures, OfAClusterShowEveryLevelAndItsWires) {
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = load_cluster(name);
    const std::string svg = cluster_svg(cluster);
    for (size_t i = 0; i < cluster.levels.size(); ++i) {
      EXPECT_NE(
          svg.find(fmt::format(">{}: {} ranks<", cluster.levels[i].name, cluster.levels[i].ranks)),
          std::string::npos)
          << name;
      EXPECT_NE(svg.find(wiring_text(cluster, i)), std::string::npos) << name;
    }
  }
}

TEST(Pictures, OfARunOnGpusAreOfTheClusterWithTheirModel) {
  const std::vector<std::string> on_gpus{"run.device=cuda"}, on_cores;
  const auto fitting = [](const std::vector<std::string>& settings, const char* device) {
    return fitting_cluster(load_config({}, settings), device);
  };
  EXPECT_EQ(fitting(on_gpus, "NVIDIA A100-SXM4-80GB"), "dgx-a100");
  EXPECT_EQ(fitting(on_gpus, "NVIDIA H100 80GB HBM3"), "dgx-h100");
  EXPECT_EQ(fitting(on_gpus, "NVIDIA H200"), "h200");
  EXPECT_EQ(fitting(on_cores, "AMD EPYC"), "laptop");
}

TEST(Pictures, OfARunComeFromItsConfigAndFromItsTrace) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / random_name();
  const SimulatedStep step = step_of({"mesh.tp=2"});
  record_simulation(
      folder, step.config,
      simulated_facts(step.config, step.spec, step.compiled, step.cluster, step.simulation),
      step.cluster, step.simulation);
  const std::vector<DocumentPicture> simulated = pictures_of_run(read_run(folder));
  ASSERT_EQ(simulated.size(), 4U);
  EXPECT_NE(simulated[0].svg.find("on dgx-h100"), std::string::npos);
  std::ofstream(folder / "trace.json") << to_trace_json(step.compiled.programs, step.simulation);
  EXPECT_EQ(pictures_of_run(read_run(folder)).size(), 5U);
  std::ofstream(folder / "trace.json") << R"({"traceEvents": [3, {"ph": "X", "args": []}]})";
  EXPECT_EQ(pictures_of_run(read_run(folder)).size(), 4U);
  std::ofstream(folder / "cluster.toml") << "name = 3";
  EXPECT_TRUE(pictures_of_run(read_run(folder)).empty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tessera
