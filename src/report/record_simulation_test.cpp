// SPDX-License-Identifier: Apache-2.0
#include "report/record_simulation.h"

#include <gtest/gtest.h>

#include "config/compile_step.h"
#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "report/report.h"
#include "sim/testing/toy_cluster.h"

namespace tessera {
namespace {

struct Simulated {
  Config config;
  Cluster cluster = toy_cluster();
  Simulation simulation;
  RunFacts facts;

  explicit Simulated(const std::vector<std::string>& overrides)
      : config(parse_config("", "test", overrides)) {
    RunSpec spec = resolve(config);
    spec.threads = 1;
    const Compiled compiled = compile(spec);
    const auto tokens = static_cast<double>(config.train.batch * config.train.seq);
    simulation =
        simulate(compiled.programs, cluster,
                 {.model_flops = flops_per_token(spec.model, config.train.seq).causal * tokens});
    facts = simulated_facts(config, spec, compiled, cluster, simulation);
  }
};

const std::vector<std::string> kSmall{"model.layers=2", "train.batch=8", "train.seq=16",
                                      "train.microbatches=4", "mesh=pp=2,dp=2"};

TEST(RecordSimulation, IsReadAsARunWithTheSameFigures) {
  const TemporaryFolder folder;
  const Simulated step(kSmall);
  record_simulation(folder.path(), step.config, step.facts, step.cluster, step.simulation);
  const Report report = report_on(folder.path());
  EXPECT_TRUE(report.record.simulated());
  EXPECT_DOUBLE_EQ(report.figures.mean.step_seconds, step.simulation.step_seconds);
  EXPECT_NEAR(report.figures.mean.mfu, step.simulation.mfu, 1e-12);
  EXPECT_DOUBLE_EQ(report.figures.split()->bubble_seconds, step.simulation.times.bubble_seconds);
  EXPECT_NEAR(report.figures.split()->total_seconds(), step.simulation.step_seconds, 1e-12);
  EXPECT_EQ(report.figures.peak_bytes, step.simulation.peak_bytes);
  EXPECT_GT(report.figures.mean.hfu, report.figures.mean.mfu);
  EXPECT_EQ(report.record.facts->rank_classes.size(), 2u);
  EXPECT_EQ(report.record.config->mesh, step.config.mesh);
  EXPECT_FALSE(report.figures.last_loss.has_value());
}

TEST(RecordSimulation, RecomputationRaisesHfuAndNotMfuPerSecond) {
  std::vector<std::string> again = kSmall;
  again.emplace_back("plan.recompute=block");
  const Simulated kept(kSmall), rebuilt(again);
  EXPECT_EQ(kept.facts.recompute_flops, 0);
  EXPECT_GT(rebuilt.facts.recompute_flops, 0);
  EXPECT_NEAR(rebuilt.facts.hardware_flops - rebuilt.facts.recompute_flops,
              kept.facts.hardware_flops, 1e-6 * kept.facts.hardware_flops);
  EXPECT_GT(rebuilt.facts.schedule_bubble, 0);
}

TEST(RecordSimulation, NeverReplacesATrainedRun) {
  const TemporaryFolder folder;
  const Simulated step(kSmall);
  folder.write("metrics.jsonl", "{\"step\":1}\n");
  EXPECT_EQ(user_error_of([&] {
              record_simulation(folder.path(), step.config, step.facts, step.cluster,
                                step.simulation);
            }),
            folder.path().string() + " already holds a run");
  EXPECT_EQ(read_text(folder.path() / "metrics.jsonl"), "{\"step\":1}\n");
  std::filesystem::remove(folder.path() / "metrics.jsonl");
  for (int twice = 0; twice < 2; ++twice)
    record_simulation(folder.path(), step.config, step.facts, step.cluster, step.simulation);
}

}  // namespace
}  // namespace tessera
