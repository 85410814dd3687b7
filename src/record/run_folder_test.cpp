// SPDX-License-Identifier: Apache-2.0
// Runs, imports and restarts that meet in one folder: what is not a run's own is neither taken, nor
// counted, nor removed.
#include "record/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/convert.h"
#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "files/storage_error.h"
#include "train/trainer.h"

namespace tessera {
namespace {

constexpr const char *kRun = "0123456789abcdef", *kOtherRun = "fedcba9876543210";

class RunFolder : public testing::Test {
 protected:
  Config config(std::vector<std::string> more, const std::string& run = "run") const {
    std::vector<std::string> overrides{
        "model.preset=mlp",     "model.width=16",          "model.mlp_size=16",
        "train.batch=8",        "train.eval_every=0",      "train.threads=1",
        "train.precision=fp32", "run.peak_gflops=100",     "train.steps=4",
        "checkpoint.every=2",   "train.learning_rate=1e-2"};
    overrides.push_back("run.out=" + (folder_.path() / run).string());
    overrides.insert(overrides.end(), more.begin(), more.end());
    return load_config(std::nullopt, overrides);
  }
  TrainSummary train(const Config& config, TrainerOptions options = {}) const {
    options.quiet = true;
    return Trainer(config, options).run();
  }
  std::filesystem::path out() const { return folder_.path() / "run"; }
  std::vector<int64_t> steps() const {
    std::vector<int64_t> found;
    for (const StepFolder& step : step_folders(checkpoints_of(out()))) found.push_back(step.step);
    return found;
  }
  std::string shard(int64_t step) const {
    return read_text(step_folder(checkpoints_of(out()), step) / "rank-00000.safetensors");
  }
  void rot(int64_t step) const {
    std::string bytes = shard(step);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(step_folder(checkpoints_of(out()), step) / "rank-00000.safetensors") << bytes;
  }
  // The last checkpoint of another run, as `tessera checkpoint convert` leaves it.
  void convert_other_model() const {
    train(config({"train.seed=7"}, "other"));
    const Checkpoint other(step_folder(checkpoints_of(folder_.path() / "other"), 4));
    convert_checkpoint(other, out(), {});
  }

  TemporaryFolder folder_;
};

TEST_F(RunFolder, AndEveryCheckpointInItCarryTheSameId) {
  train(config({}));
  const auto identity = read_run_identity(out());
  ASSERT_TRUE(identity);
  for (const int64_t step : {2, 4})
    EXPECT_EQ(Checkpoint(step_folder(checkpoints_of(out()), step)).facts().run, identity->id);
  train(config({"train.steps=6"}), {.resume = true});
  EXPECT_EQ(Checkpoint(step_folder(checkpoints_of(out()), 6)).facts().run, identity->id);
  EXPECT_EQ(steps(), (std::vector<int64_t>{4, 6}));
}

TEST_F(RunFolder, WithCheckpointsAloneIsNotBegunIn) {
  convert_other_model();
  const std::string before = shard(4);
  EXPECT_EQ(user_error_of([&] { train(config({})); }),
            out().string() + " already holds checkpoints, the newest of step 4");
  EXPECT_EQ(shard(4), before);
}

TEST_F(RunFolder, ThatAPersonResumesBecomesTheRunsOwnAndItsModelStays) {
  convert_other_model();
  const std::string before = shard(4);
  train(config({"train.steps=12", "train.seed=7"}), {.resume = true});
  EXPECT_EQ(read_run_identity(out())->adopted_step, 4);
  EXPECT_EQ(steps(), (std::vector<int64_t>{4, 10, 12}));
  EXPECT_EQ(shard(4), before);
}

TEST_F(RunFolder, KeepsWhatIsSavedBelowARottenCheckpoint) {
  const std::vector<std::string> kept{"checkpoint.keep=1", "checkpoint.keep_every=5",
                                      "checkpoint.every=1"};
  const auto with = [&](const char* steps) {
    std::vector<std::string> all = kept;
    all.emplace_back(steps);
    return config(all);
  };
  train(with("train.steps=10"));
  ASSERT_EQ(steps(), (std::vector<int64_t>{5, 10}));
  rot(10);
  const TrainSummary resumed = train(with("train.steps=8"), {.resume = true});
  EXPECT_EQ(resumed.first_step, 5);
  EXPECT_EQ(steps(), (std::vector<int64_t>{5, 8}));
  Checkpoint(*resumed.checkpoint).verify();
  EXPECT_TRUE(std::filesystem::exists(checkpoints_of(out()) / "step-00000010.aside"));
}

TEST_F(RunFolder, IsNeverResumedFromWhatAnotherRunHasLeftInIt) {
  train(config({}));
  train(config({"train.steps=8", "train.seed=7"}, "other"));
  const std::filesystem::path copy = step_folder(checkpoints_of(out()), 8);
  std::filesystem::copy(step_folder(checkpoints_of(folder_.path() / "other"), 8), copy);
  const TrainSummary resumed = train(config({"train.steps=6"}), {.resume = true});
  EXPECT_EQ(resumed.first_step, 4);
  ASSERT_FALSE(resumed.warnings.empty());
  EXPECT_NE(resumed.warnings[0].find("does not belong to this run: it has the run id"),
            std::string::npos)
      << resumed.warnings[0];
}

// A restart of the supervisor, before anything was saved.
TEST_F(RunFolder, OfAFailedStartIsBegunAgainByTheSameRunAlone) {
  FaultPlan faults("phase=backward,step=1,action=nan");
  EXPECT_THROW(train(config({}), {.run_id = kRun, .faults = &faults}), UserError);
  EXPECT_EQ(user_error_of([&] { train(config({}), {.run_id = kOtherRun}); }),
            out().string() + " already holds a run");
  EXPECT_EQ(train(config({}), {.run_id = kRun}).steps, 4);
  EXPECT_EQ(read_run_identity(out())->id, kRun);
  EXPECT_EQ(last_recorded_save(out()), 4);
  const std::string events = read_text(out() / "events.jsonl");
  EXPECT_NE(events.find("\"failure\""), std::string::npos) << "the record of the first start";
}

TEST_F(RunFolder, OfARunThatHasSavedIsNotBegunAgain) {
  train(config({}), {.run_id = kRun});
  EXPECT_THROW(train(config({}), {.run_id = kRun}), StorageError);
  EXPECT_EQ(steps(), (std::vector<int64_t>{2, 4}));
  std::filesystem::remove_all(checkpoints_of(out()));  // as where its disk was not mounted
  EXPECT_THROW(train(config({}), {.run_id = kRun}), StorageError);
  EXPECT_THROW(train(config({}), {.resume = true, .run_id = kRun}), StorageError);
}

TEST_F(RunFolder, ThatIsOverwrittenKeepsNothingOfTheOldRun) {
  train(config({}), {.run_id = kOtherRun});
  train(config({"train.steps=1"}), {.overwrite = true, .run_id = kRun});
  EXPECT_EQ(read_run_identity(out())->id, kRun);
  EXPECT_EQ(steps(), std::vector<int64_t>{1});
  EXPECT_EQ(last_recorded_save(out()), 1);
}

}  // namespace
}  // namespace tessera
