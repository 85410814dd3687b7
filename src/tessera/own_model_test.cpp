// SPDX-License-Identifier: Apache-2.0
// Runs of a model that the program brings: on every mesh with the same losses, resumed on another
// mesh, and never continued as another model.
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/testing/user_error_of.h"
#include "data/row_samples.h"
#include "data/token_shard.h"
#include "tessera/config.h"
#include "tessera/simulate.h"
#include "tessera/testing/own_models.h"
#include "tessera/verify.h"
#include "train/trainer.h"

namespace tessera {
namespace {

class OwnModelRun : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("tessera_own_model_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < 4000; ++i) tokens.push_back(i * i % 31);
    write_token_shard(folder_ / "tokens.bin", tokens, 31);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Config config(const std::string& run, const std::vector<std::string>& more = {},
                const OwnModel& model = own_attention()) const {
    std::vector<std::string> settings{"train.precision=fp64", "train.batch=8",
                                      "train.microbatches=2", "train.seq=12",
                                      "train.steps=4",        "train.schedule=constant",
                                      "train.eval_every=2",   "train.eval_batches=1",
                                      "train.threads=2",      "run.peak_gflops=100"};
    settings.push_back("data.path=" + (folder_ / "tokens.bin").string());
    settings.push_back("run.out=" + (folder_ / run).string());
    settings.insert(settings.end(), more.begin(), more.end());
    return load_config(model, {}, settings);
  }

  TrainSummary run(const Config& config, bool resume = false,
                   std::vector<std::string> accepted = {}) const {
    return Trainer(config,
                   {.resume = resume, .quiet = true, .accepted_changes = std::move(accepted)})
        .run();
  }

  std::filesystem::path folder_;
};

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-9) << i;
}

TEST_F(OwnModelRun, HasTheSameLossesOnEveryMesh) {
  const TrainSummary alone = run(config("alone"));
  EXPECT_NE(alone.losses.back(), alone.losses.front());
  ASSERT_TRUE(alone.held_out_loss);
  for (const auto& [mesh, zero] :
       std::vector<std::pair<std::string, std::string>>{{"dp=2", "0"},
                                                        {"dp=2", "3"},
                                                        {"tp=4", "0"},
                                                        {"pp=2", "0"},
                                                        {"fsdp=2,tp=2", "3"},
                                                        {"cp=2", "0"}}) {
    const TrainSummary spread =
        run(config(mesh + " zero " + zero, {"mesh=" + mesh, "plan.zero=" + zero}));
    expect_near(spread.losses, alone.losses);
    EXPECT_NEAR(*spread.held_out_loss, *alone.held_out_loss, 1e-9) << mesh;
  }
}

TEST_F(OwnModelRun, IsResumedOnAnotherMesh) {
  const TrainSummary whole = run(config("whole"));
  const std::string saves = "checkpoint.every=2";
  run(config("halves", {saves, "mesh=dp=2,tp=2", "train.steps=2"}));
  const TrainSummary rest = run(config("halves", {saves, "mesh=pp=2,fsdp=2"}), true);
  EXPECT_EQ(rest.first_step, 2);
  expect_near(rest.losses, {whole.losses[2], whole.losses[3]});
}

TEST_F(OwnModelRun, IsNotResumedWithOtherMaths) {
  const std::string saves = "checkpoint.every=2";
  run(config("run", {saves}));
  const Config other = config("run", {saves, "train.steps=6"}, own_attention({.gelu = false}));
  const std::string refused = user_error_of([&] { run(other, true); });
  EXPECT_NE(refused.find("model.maths"), std::string::npos) << refused;
  EXPECT_EQ(run(other, true, {"model.maths"}).losses.size(), 2);
}

TEST_F(OwnModelRun, IsNotResumedAsAnotherModel) {
  const std::string saves = "checkpoint.every=2";
  run(config("run", {saves}));
  OwnModel renamed = own_attention();
  renamed.name = "another";
  const std::string refused = user_error_of([&] {
    run(config("run", {saves, "train.steps=6"}, renamed), true);
  });
  EXPECT_NE(refused.find("model.name own_attention -> another"), std::string::npos) << refused;
  const Config family = load_config(
      std::nullopt, std::vector<std::string>{"model.preset=tiny", "train.seq=12", "train.batch=8",
                                             "run.out=" + (folder_ / "run").string()});
  const std::string of_family = user_error_of([&] { run(family, true); });
  EXPECT_NE(of_family.find("model.preset own -> tiny"), std::string::npos) << of_family;
}

TEST_F(OwnModelRun, IsVerifiedAndSimulated) {
  for (const char* mesh : {"dp=2,tp=2", "pp=2,fsdp=2"}) {
    const Config spread = config("run", {std::string("mesh=") + mesh});
    EXPECT_TRUE(verify(spread).equal()) << mesh;
    const SimulatedStep step = simulate(spread, "dgx-h100");
    EXPECT_GT(step.simulation.step_seconds, 0);
    EXPECT_GT(step.simulation.mfu, 0);
    EXPECT_NE(title_of(step).find("own_attention, batch 8 x 12"), std::string::npos);
  }
}

TEST_F(OwnModelRun, TakesSamplesOfItsOwn) {
  std::vector<RowSamples::Row> rows;
  for (int32_t i = 0; i < 16; ++i)
    rows.push_back({.tokens = std::vector<int32_t>(12, i), .labels = std::vector<int32_t>(12, i)});
  const auto data = [&](const Config& asked) {
    TrainingData own;
    own.train = std::make_unique<RowSamples>(rows, asked.train.seq);
    return own;
  };
  const Config asked = config("rows", {"train.steps=20", "train.learning_rate=0.02"});
  const TrainSummary summary = Trainer(asked, {.quiet = true, .data = data}).run();
  EXPECT_LT(summary.last_loss, summary.first_loss / 2);
  EXPECT_FALSE(summary.held_out_loss);
}

TEST_F(OwnModelRun, NamesTheInputThatItsDataLack) {
  const Config asked = config("run", {}, own_attention({.labels = "targets"}));
  EXPECT_NE(user_error_of([&] {
              run(asked);
            }).find("reads targets, but samples of the data have tokens, labels"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
