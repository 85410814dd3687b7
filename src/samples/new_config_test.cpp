// SPDX-License-Identifier: Apache-2.0
#include "samples/new_config.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

NewConfig made(const ConfigOrder& order) {
  return new_config(order, [](const PlanTask& task) { return search(task, {.most_trials = 4}); });
}

bool has(const NewConfig& config, const std::string& text) {
  return config.text.find(text) != std::string::npos;
}

TEST(NewConfig, OnTheSamplesOwnMachineIsTheSample) {
  for (const SampleJob& job : sample_jobs())
    for (const std::string_view name : job.samples)
      for (const SampleConfig& sample : sample_configs()) {
        if (sample.name != name) continue;
        const NewConfig config = made({.job = job,
                                       .cluster = sample.cluster,
                                       .ranks = sample.ranks,
                                       .settings = {"model.preset=" + sample.model},
                                       .file = sample.file()});
        EXPECT_TRUE(config.text.ends_with("\n\n" + sample.body)) << name << config.text;
      }
}

TEST(NewConfig, OfAnotherMachineHasThePlannersMeshAndSaysSo) {
  const NewConfig config = made({.job = find_job("fine_tune"),
                                 .cluster = "dgx-h100",
                                 .ranks = 4,
                                 .settings = {"model.preset=llama3-1b", "data.path=mine.jsonl"},
                                 .weights = "llama 1b",
                                 .file = "my.toml"});
  EXPECT_TRUE(has(config, "[mesh]\n# Chosen by tessera plan for 4 ranks of dgx-h100.\n"));
  EXPECT_TRUE(has(config, "path = \"mine.jsonl\""));
  EXPECT_TRUE(has(config, "# 16 columns are enough"));
  EXPECT_EQ(config.commands.front(), "tessera launch train my.toml --init-from 'llama 1b'");
  EXPECT_EQ(config.step.ranks(), 4);
}

TEST(NewConfig, OnSeveralNodesIsAJob) {
  const NewConfig config = made({.job = find_job("pretrain"),
                                 .cluster = "dgx-h100",
                                 .ranks = 16,
                                 .settings = {"model.preset=llama3-1b"},
                                 .file = "my.toml"});
  EXPECT_EQ(config.commands.front(), "tessera launch --sbatch --cluster dgx-h100 train my.toml");
}

TEST(NewConfig, FollowsAModelThatIsTrainedAnew) {
  const NewConfig config = made({.job = find_job("pretrain"),
                                 .cluster = "dgx-h100",
                                 .ranks = 8,
                                 .settings = {"model.preset=gpt2-350m"},
                                 .file = "my.toml"});
  EXPECT_EQ(config.step.config.train.seq, 1024);   // its context; samples had 4096
  EXPECT_EQ(config.step.config.train.batch, 512);  // as many tokens
  EXPECT_EQ(config.step.config.train.learning_rate, 6e-4);
  EXPECT_EQ(config.step.config.train.steps, 14000);  // 20 x 354M parameters, in steps of 0.5M
  EXPECT_TRUE(has(config, "# 14000 steps of 524288 tokens are 7.34B tokens, 21 for each"));
  EXPECT_EQ(config.step.config.train.warmup_steps, 700);
}

TEST(NewConfig, APathTakesThePlaceOfAMixture) {
  const NewConfig config =
      made({.job = find_job("continue"), .settings = {"data.path=books/*.bin"}, .file = "my.toml"});
  EXPECT_FALSE(has(config, "[data.mixture]"));
  EXPECT_EQ(config.step.config.data.path, "books/*.bin");
}

TEST(NewConfig, WhatDoesNotFitIsRefused) {
  const ConfigOrder order{.job = find_job("pretrain"),
                          .cluster = "dgx-h100",
                          .ranks = 2,
                          .settings = {"model.preset=llama3-70b"},
                          .file = "my.toml"};
  EXPECT_THROW(made(order), UserError);
  ConfigOrder given = order;
  given.settings.emplace_back("mesh=fsdp=2");
  EXPECT_THROW(made(given), UserError);
}

}  // namespace
}  // namespace tessera
