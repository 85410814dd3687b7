// SPDX-License-Identifier: Apache-2.0
// A NaN put into one instruction of one rank: what the run does with it, and whom it names.
#include "train/recovery.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/testing/temporary_folder.h"
#include "train/trainer.h"

namespace tessera {
namespace {

class NonFinite : public testing::Test {
 protected:
  TrainSummary train(const std::string& run, const std::string& policy, const std::string& fault,
                     std::vector<std::string> more = {}) const {
    std::vector<std::string> overrides{"model.preset=tiny",
                                       "model.layers=2",
                                       "model.width=32",
                                       "model.heads=2",
                                       "model.kv_heads=1",
                                       "model.mlp_size=32",
                                       "train.batch=4",
                                       "train.seq=16",
                                       "train.steps=6",
                                       "train.eval_every=0",
                                       "train.threads=1",
                                       "mesh=dp=2",
                                       "data.story_bytes=100000",
                                       "run.peak_gflops=100",
                                       "train.on_non_finite=" + policy,
                                       "run.out=" + (folder_.path() / run).string()};
    overrides.insert(overrides.end(), more.begin(), more.end());
    FaultPlan faults(fault);
    return Trainer(load_config(std::nullopt, overrides), {.quiet = true, .faults = &faults}).run();
  }
  std::vector<nlohmann::json> metrics(const std::string& run) const {
    std::istringstream text(read_text(folder_.path() / run / "metrics.jsonl"));
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  std::string shard(const std::string& run, int64_t step) const {
    return read_text(step_folder(checkpoints_of(folder_.path() / run), step) /
                     "rank-00000.safetensors");
  }

  TemporaryFolder folder_;
};

constexpr const char* kBackward = "rank=1,phase=backward,step=3,nth=2,action=nan";

TEST_F(NonFinite, StopsAndNamesTheFirstTensor) {
  try {
    train("stop", "stop", kBackward);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("step 3: "), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("the first that is not finite is the gradient of head.norm"),
              std::string::npos)
        << error.message();
  }
  try {
    train("loss", "stop", "rank=1,phase=backward,step=3,nth=1,action=nan");
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("the loss is nan"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("the first that is not finite is the loss"), std::string::npos)
        << error.message();
  }
}

// The numbers that were not finite are gone when the step is computed again.
TEST_F(NonFinite, ThatAComputationDoesNotRepeatIsToldFromAnOverflow) {
  try {
    train("once", "stop", kBackward);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("every value is finite when the step is computed again"),
              std::string::npos)
        << error.message();
  }
}

TEST_F(NonFinite, NamesTheInstructionThatMadeTheFirst) {
  try {
    train("overflow", "stop", "phase=exit,step=99",
          {"train.learning_rate=1e18", "train.warmup_steps=0", "train.clip_norm=0"});
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("the first that is not finite is %"), std::string::npos)
        << error.message();
    EXPECT_NE(error.message().find(" of layer.0, forward, microbatch 0, rank "), std::string::npos)
        << error.message();
  }
}

// The loss and every gradient after it are not finite either.
TEST_F(NonFinite, NamesAWeightBeforeWhatFollowsFromIt) {
  try {
    train("weight", "stop", "rank=1,phase=update,step=3,nth=2,action=nan");
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("step 4: the loss is"), std::string::npos) << error.message();
    EXPECT_TRUE(error.message().ends_with("the first that is not finite is layer.0.wq"))
        << error.message();
  }
}

TEST_F(NonFinite, StepThatIsSkippedLeavesWeightsAndMomentsAsTheyWere) {
  const TrainSummary summary =
      train("skip", "skip", kBackward, {"checkpoint.every=1", "checkpoint.keep=9"});
  EXPECT_EQ(summary.steps, 6);
  ASSERT_EQ(summary.warnings.size(), 1u);
  EXPECT_EQ(shard("skip", 3), shard("skip", 2));
  EXPECT_NE(shard("skip", 4), shard("skip", 3));
  const auto lines = metrics("skip");
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_TRUE(lines[2].contains("skipped"));
  EXPECT_FALSE(lines[3].contains("skipped"));
  EXPECT_TRUE(lines[3]["loss"].is_number());
}

TEST_F(NonFinite, RewindsAndLeavesOutTheData) {
  const TrainSummary summary =
      train("rewind", "rewind", "rank=1,phase=backward,step=4,nth=1,action=nan",
            {"checkpoint.every=2", "checkpoint.keep=9"});
  EXPECT_EQ(summary.steps, 6);
  const auto lines = metrics("rewind");
  ASSERT_EQ(lines.size(), 6u);
  for (const auto& line : lines) EXPECT_TRUE(line["loss"].is_number());
  // Two steps from the checkpoint of step 2 were left out: samples 8 to 16.
  const Checkpoint last(step_folder(checkpoints_of(folder_.path() / "rewind"), 6));
  EXPECT_EQ(last.facts().position.next_sample, 4 * 6 + 8);
}

TEST_F(NonFinite, RewindsAsOftenAsEachCheckpointIsFollowedByAnother) {
  std::string faults;
  for (const int step : {3, 5, 7, 9})
    faults += fmt::format("{}rank=1,phase=backward,step={},nth=1,action=nan",
                          faults.empty() ? "" : ";", step);
  const TrainSummary summary =
      train("often", "rewind", faults, {"checkpoint.every=2", "train.steps=10"});
  EXPECT_EQ(summary.steps, 10);
  EXPECT_EQ(metrics("often").size(), 10u);
}

TEST_F(NonFinite, GivesUpWhenRewindingDoesNotHelp) {
  try {
    // Without a rank both come by in turn, so that the fault strikes each time.
    train("again", "rewind", "phase=backward,step=4,nth=1,action=nan", {"checkpoint.every=2"});
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(error.advice().find("rewinds to step 2 did not help"), std::string::npos)
        << error.advice();
  }
}

}  // namespace
}  // namespace tessera
