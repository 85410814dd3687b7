// SPDX-License-Identifier: Apache-2.0
// Training of a mixture whose routers' biases follow the loads of experts: the same on every mesh,
// before and after a checkpoint.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_folder.h"
#include "core/testing/temporary_folder.h"
#include "record/run_record.h"
#include "train/trainer.h"

namespace tessera {
namespace {

class RouterBalance : public testing::Test {
 protected:
  RunRecord train(const std::string& run, std::vector<std::string> more, bool resume = false) {
    const std::filesystem::path out = folder_.path() / run;
    std::vector<std::string> overrides{"model.preset=tiny-moe",
                                       "model.layers=3",
                                       "model.width=32",
                                       "model.heads=2",
                                       "model.kv_heads=1",
                                       "model.head_size=16",
                                       "model.expert_mlp_size=16",
                                       "model.dense_layers=1",
                                       "model.balance_rate=0.01",
                                       "train.precision=fp64",
                                       "train.schedule=constant",
                                       "train.batch=12",
                                       "train.seq=24",
                                       "train.steps=8",
                                       "train.log_every=2",
                                       "train.warmup_steps=2",
                                       "train.eval_every=3",
                                       "train.eval_batches=2",
                                       "checkpoint.every=4",
                                       "data.story_bytes=100000",
                                       "run.peak_gflops=100",
                                       "run.out=" + out.string()};
    overrides.insert(overrides.end(), more.begin(), more.end());
    Trainer(load_config(std::nullopt, overrides),
            {.resume = resume, .overwrite = false, .quiet = true})
        .run();
    return read_run(out);
  }

  std::vector<std::byte> bias_of(const std::string& run, int64_t step) const {
    return Checkpoint(step_folder(checkpoints_of(folder_.path() / run), step))
        .read_whole("layer.2.router_bias");
  }

  TemporaryFolder folder_;
};

void expect_same(const RunRecord& got, const RunRecord& wanted, const std::string& what) {
  ASSERT_EQ(got.steps.size(), wanted.steps.size()) << what;
  for (size_t i = 0; i < got.steps.size(); ++i) {
    const StepRecord &a = got.steps[i], &b = wanted.steps[i];
    const std::string at = fmt::format("{} step {}", what, b.step);
    EXPECT_NEAR(a.loss, b.loss, 1e-9 * b.loss) << at;
    EXPECT_NEAR(a.balance_loss, b.balance_loss, 1e-9 * b.balance_loss) << at;
    EXPECT_EQ(a.load_violation, b.load_violation) << at;
    EXPECT_EQ(a.starving_experts, b.starving_experts) << at;
    EXPECT_EQ(a.loads, b.loads) << at;
  }
}

TEST_F(RouterBalance, HasTheLoadsLossesAndBiasesOfOneRankOnEveryMesh) {
  const RunRecord one = train("one", {});
  for (const std::vector<std::string>& mesh :
       std::vector<std::vector<std::string>>{{"mesh=dp=2"},
                                             {"mesh=ep=4", "train.microbatches=3"},
                                             {"mesh=fsdp=2,ep=2", "plan.zero=3"},
                                             {"mesh=pp=3", "train.microbatches=3"},
                                             {"mesh=pp=2,dp=2", "train.microbatches=3"},
                                             {"mesh=dp=2", "plan.recompute=block"}}) {
    const std::string name = fmt::format("{}", fmt::join(mesh, " "));
    expect_same(train(name, mesh), one, name);
    EXPECT_EQ(bias_of(name, 8), bias_of("one", 8)) << name;
  }
}

TEST_F(RouterBalance, GoesOnFromACheckpointWithTheSameBits) {
  const RunRecord whole = train("whole", {});
  train("parts", {"train.steps=4", "mesh=ep=2"});
  EXPECT_EQ(bias_of("parts", 4), bias_of("whole", 4));
  expect_same(train("parts", {"mesh=dp=2", "plan.zero=1"}, /*resume=*/true), whole, "parts");
  EXPECT_EQ(bias_of("parts", 8), bias_of("whole", 8));
}

TEST_F(RouterBalance, RecordsCountsOfLoggedStepsAndFiguresOfAll) {
  const RunRecord run = train("run", {"model.balance_rate=0"});
  for (const StepRecord& step : run.steps) {
    EXPECT_FALSE(std::isnan(step.load_violation)) << step.step;
    ASSERT_EQ(step.loads.size(), step.step % 2 == 0 ? 2u : 0u) << step.step;
    for (const ExpertLoad& layer : step.loads) EXPECT_EQ(layer.mean() * 8, 12 * 24 * 2);
  }
  EXPECT_EQ(run.steps[1].loads[0].block, "layer.1");
}

}  // namespace
}  // namespace tessera
