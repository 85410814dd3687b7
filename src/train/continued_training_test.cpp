// SPDX-License-Identifier: Apache-2.0
// Training that goes on from stored weights: another context, mesh, precision and format.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint_folder.h"
#include "config/run_spec.h"
#include "core/testing/temporary_folder.h"
#include "huggingface/export_folder.h"
#include "inference/stored_model.h"
#include "train/continued_config.h"
#include "train/trainer.h"

namespace tessera {
namespace {

constexpr int64_t kShort = 16, kLong = 64;

class ContinuedTraining : public testing::Test {
 protected:
  std::string path(const std::string& run) const { return (folder_.path() / run).string(); }

  std::vector<std::string> settings(const std::string& run, std::vector<std::string> more) const {
    std::vector<std::string> all{
        "train.batch=4",        "train.warmup_steps=2", "train.steps=4",
        "train.eval_every=0",   "train.threads=1",      "data.story_bytes=100000",
        "checkpoint.every=100", "run.peak_gflops=100",  "run.out=" + path(run)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // A small model that has learnt something in a short context.
  void train_short(const std::string& run, const std::string& precision) const {
    const Config config = load_config(
        std::nullopt, settings(run, {"model.layers=2", "model.width=32", "model.heads=4",
                                     "model.kv_heads=2", "model.head_size=8", "model.mlp_size=64",
                                     fmt::format("model.context={}", kShort),
                                     fmt::format("train.seq={}", kShort), "train.steps=60",
                                     "train.learning_rate=0.01", "train.precision=" + precision}));
    Trainer(config, {.quiet = true}).run();
  }

  TrainSummary go_on(const std::string& from, const std::string& run,
                     std::vector<std::string> more) const {
    const auto stored = open_stored_model(from);
    const ContinuedConfig continued = continued_config(*stored, {}, settings(run, std::move(more)));
    return Trainer(continued.config, {.init_from = stored.get(), .quiet = true}).run();
  }

  TemporaryFolder folder_;
};

TEST_F(ContinuedTraining, FromAShortContextToALongerOneIsTheSameWithContextParallelism) {
  train_short("short", "fp32");
  const std::string longer = fmt::format("train.seq={}", kLong);
  const TrainSummary one = go_on(path("short"), "one", {longer});
  EXPECT_EQ(one.first_step, 0);
  EXPECT_LT(one.first_loss, std::log(256.0) - 1.0);  // weights were taken, not drawn
  for (const char* mesh : {"cp=2", "cp=2,tp=2", "fsdp=2,cp=2"}) {
    const TrainSummary many = go_on(path("short"), mesh, {longer, std::string("mesh=") + mesh});
    ASSERT_EQ(many.losses.size(), one.losses.size());
    for (size_t i = 0; i < one.losses.size(); ++i)
      EXPECT_NEAR(many.losses[i], one.losses[i], 1e-5 * one.losses[i]) << mesh << " step " << i;
  }
}

TEST_F(ContinuedTraining, StretchesRopeToLongerSamplesUnlessTold) {
  train_short("short", "fp32");
  const auto stored = open_stored_model(path("short"));
  const auto model = [&](std::vector<std::string> more) {
    return resolve_model(continued_config(*stored, {}, more).config);
  };
  const ModelConfig same = model({"train.seq=16"});
  EXPECT_EQ(same.context, kShort);
  EXPECT_EQ(same.rope_scaling_factor, 1.0);
  const ModelConfig longer = model({"train.seq=64"});
  EXPECT_EQ(longer.context, kLong);
  EXPECT_EQ(longer.rope_scaling_factor, 4.0);
  EXPECT_EQ(longer.rope_original_context, kShort);
  const ModelConfig told = model({"train.seq=64", "model.context=128"});
  EXPECT_EQ(told.context, 128);
  EXPECT_EQ(told.rope_scaling_factor, 1.0);
  EXPECT_EQ(told.width, 32);
  EXPECT_NE(continued_config(*stored, {}, std::vector<std::string>{"train.seq=64"}).note, "");
}

TEST_F(ContinuedTraining, StretchesRopeASecondTimeFromTheFirstContext) {
  train_short("short", "fp32");
  go_on(path("short"), "longer", {"train.seq=32", "train.steps=1"});
  const auto stored = open_stored_model(path("longer"));
  const ModelConfig longest =
      resolve_model(continued_config(*stored, {}, std::vector<std::string>{"train.seq=64"}).config);
  EXPECT_EQ(longest.rope_scaling_factor, 4.0);
  EXPECT_EQ(longest.rope_original_context, kShort);
}

TEST_F(ContinuedTraining, FromHuggingFacesFolderHasTheBitsOfTheCheckpoint) {
  train_short("short", "fp32");
  const auto stored = open_stored_model(path("short"));
  export_folder(*stored, resolve_model(config_of(*stored)), path("hf"), {});
  const TrainSummary ours = go_on(path("short"), "ours", {"train.seq=32", "mesh=dp=2"});
  const TrainSummary theirs = go_on(path("hf"), "theirs", {"train.seq=32", "mesh=dp=2"});
  EXPECT_EQ(ours.losses, theirs.losses);
}

TEST_F(ContinuedTraining, InAnotherPrecisionTakesTheMasterWeights) {
  train_short("short", "bf16");
  go_on(path("short"), "exact",
        {"train.precision=fp32", "train.seq=16", "train.steps=1", "train.learning_rate=0"});
  const Checkpoint before(step_folder(checkpoints_of(path("short")), 60));
  const Checkpoint after(step_folder(checkpoints_of(path("exact")), 1));
  EXPECT_EQ(after.read_whole("layer.1.wq"), before.read_whole("layer.1.wq.master"));
  go_on(path("short"), "averaged",
        {"train.precision=bf16", "train.ema_decay=0.5", "train.seq=16", "train.steps=1",
         "train.learning_rate=0"});
  const Checkpoint averaged(step_folder(checkpoints_of(path("averaged")), 1));
  for (const char* role : {"master", "average"})
    EXPECT_EQ(averaged.read_whole(fmt::format("layer.1.wq.{}", role)),
              before.read_whole("layer.1.wq.master"))
        << role;
}

// Bytes would be other tokens than those that the model knows.
TEST_F(ContinuedTraining, ReadsTextWithTheTokenizerOfTheModel) {
  train_short("short", "fp32");
  const auto tokenizer_for = [&](std::vector<std::string> more) {
    return continued_config(*open_stored_model(path("short")), {}, more).config.data.tokenizer;
  };
  EXPECT_EQ(tokenizer_for({"data.path=notes.txt"}), "");  // it has none: bytes
  folder_.write("short/tokenizer.json", "{}");
  EXPECT_EQ(tokenizer_for({"data.path=notes.txt"}), path("short/tokenizer.json"));
  EXPECT_EQ(tokenizer_for({"data.mixture.notes.txt=1"}), path("short/tokenizer.json"));
  EXPECT_EQ(tokenizer_for({"data.path=notes.txt", "data.tokenizer=own.json"}), "own.json");
  EXPECT_EQ(tokenizer_for({"data.path=a.bin"}), "");  // shards are tokens already
}

}  // namespace
}  // namespace tessera
