// SPDX-License-Identifier: Apache-2.0
// Islands as threads: what they have in common with data parallelism, and that neither a second run
// nor one that was stopped shows in the numbers.
#include "train/island_training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/side_tensor.h"
#include "core/testing/temporary_folder.h"
#include "islands/local_islands.h"
#include "record/exchange_record.h"
#include "record/run_record.h"

namespace tessera {
namespace {

class IslandTraining : public testing::Test {
 protected:
  Config config(const std::string& run, const std::string& mesh,
                std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"model.preset=tiny",
                                 "model.layers=1",
                                 "model.width=16",
                                 "model.heads=2",
                                 "model.kv_heads=1",
                                 "model.head_size=8",
                                 "model.mlp_size=32",
                                 "train.batch=8",
                                 "train.seq=16",
                                 "train.steps=12",
                                 "train.warmup_steps=2",
                                 "train.eval_every=0",
                                 "train.learning_rate=0.01",
                                 "data.story_bytes=100000",
                                 "train.threads=2",
                                 "run.peak_gflops=100",
                                 "run.tensorboard=false",
                                 "mesh=" + mesh,
                                 "run.out=" + path(run).string()};
    all.insert(all.end(), more.begin(), more.end());
    return load_config(std::nullopt, all);
  }
  std::filesystem::path path(const std::string& run) const { return folder_.path() / run; }

  TrainSummary train(const Config& config, bool resume = false) const {
    return train_islands(config, {.resume = resume, .quiet = true});
  }

  std::vector<double> losses(const std::string& run) const {
    std::vector<double> found;
    for (const StepRecord& step : read_run(path(run)).steps) found.push_back(step.loss);
    return found;
  }

  TemporaryFolder folder_;
};

// One step apart, plain means, SGD without momentum or clipping: the mean of the islands' weights
// is what the mean of their gradients makes.
TEST_F(IslandTraining, OneStepApartAndAveragedSgdIsDataParallelism) {
  const std::vector<std::string> plain{"train.optimizer=sgd",  "train.momentum=0",
                                       "train.clip_norm=0",    "train.precision=fp64",
                                       "islands.every=1",      "islands.outer_optimizer=average",
                                       "train.microbatches=2", "train.weight_decay=0.1"};
  const TrainSummary islands = train(config("islands", "island=2", plain));
  const TrainSummary ranks = Trainer(config("ranks", "dp=2", plain), {.quiet = true}).run();
  ASSERT_EQ(islands.losses.size(), 12U);
  for (size_t i = 0; i < islands.losses.size(); ++i)
    EXPECT_NEAR(islands.losses[i], ranks.losses[i], 1e-9 * ranks.losses[i]) << i;
  EXPECT_LT(islands.losses.back(), islands.losses.front());
}

TEST_F(IslandTraining, IsOtherMathsWhereTheyAreStepsApart) {
  const TrainSummary often = train(config("often", "island=2", {"islands.every=1"}));
  const TrainSummary seldom = train(config("seldom", "island=2", {"islands.every=6"}));
  EXPECT_EQ(often.losses.front(), seldom.losses.front());
  EXPECT_NE(often.losses.back(), seldom.losses.back());
}

TEST_F(IslandTraining, EightBitsAndFragmentsLearnAsMuch) {
  const TrainSummary exact = train(config("exact", "island=2", {"islands.every=6"}));
  const TrainSummary eight =
      train(config("eight", "island=2", {"islands.every=6", "islands.wire=int8"}));
  const TrainSummary streamed = train(config(
      "streamed", "island=2", {"islands.every=6", "islands.fragments=3", "islands.delay=2"}));
  EXPECT_NE(exact.losses, eight.losses);
  EXPECT_NEAR(eight.losses.back(), exact.losses.back(), 0.01 * exact.losses.back());
  EXPECT_NEAR(streamed.losses.back(), exact.losses.back(), 0.05 * exact.losses.back());
}

TEST_F(IslandTraining, HasTheSameBitsTwiceAndWhenResumedWithFragmentsInFlight) {
  const std::vector<std::string> streamed{"islands.every=5",    "islands.fragments=2",
                                          "islands.delay=3",    "islands.wire=int8",
                                          "checkpoint.every=4", "checkpoint.keep=9"};
  train(config("once", "island=2,dp=2", streamed));
  train(config("twice", "island=2,dp=2", streamed));
  EXPECT_EQ(losses("once"), losses("twice"));
  // Sent after steps 5 and 7, and applied after 8 and 10: with 8 of 12 steps done one is in flight.
  for (const char* island : {"island-0", "island-1"})
    std::filesystem::remove_all(step_folder(checkpoints_of(path("twice") / island), 12));
  train(config("twice", "island=2,dp=2", streamed), /*resume=*/true);
  EXPECT_EQ(losses("once"), losses("twice"));
  for (const char* island : {"island-0", "island-1"}) {
    const Checkpoint once(step_folder(checkpoints_of(path("once") / island), 12));
    const Checkpoint twice(step_folder(checkpoints_of(path("twice") / island), 12));
    int outer = 0;
    for (const auto& [name, unused] : once.tensors()) {
      EXPECT_EQ(once.read_whole(name), twice.read_whole(name)) << name;
      outer += is_side_tensor(name) ? 1 : 0;
    }
    EXPECT_EQ(outer, 5);  // two fragments, their momentum, the numbers
    EXPECT_EQ(read_exchanges(path("once") / island).size(),
              read_exchanges(path("twice") / island).size());
  }
}

TEST_F(IslandTraining, EndsWithTheSameWeightsOnAllIslands) {
  train(config("run", "island=3",
               {"train.batch=9", "islands.every=5", "islands.fragments=2", "islands.delay=1",
                "checkpoint.every=100"}));
  const Checkpoint first(step_folder(checkpoints_of(path("run") / "island-0"), 12));
  const Checkpoint last(step_folder(checkpoints_of(path("run") / "island-2"), 12));
  int same = 0, different = 0;
  for (const auto& [name, unused] : first.tensors())
    (first.read_whole(name) == last.read_whole(name) ? same : different) += 1;
  EXPECT_GT(same, 10);      // weights, outer state
  EXPECT_GT(different, 5);  // moments are each island's own
}

// As after a crash while island 1 had not yet written its newest checkpoint.
TEST_F(IslandTraining, ResumesFromTheNewestStepThatAllHave) {
  const std::vector<std::string> saving{"islands.every=3", "checkpoint.every=4",
                                        "checkpoint.keep=9"};
  train(config("run", "island=2", saving));
  const std::vector<double> before = losses("run");
  std::filesystem::remove_all(step_folder(checkpoints_of(path("run") / "island-1"), 12));
  const TrainSummary resumed = train(config("run", "island=2", saving), /*resume=*/true);
  EXPECT_EQ(resumed.first_step, 8);
  EXPECT_EQ(losses("run"), before);
}

TEST_F(IslandTraining, WhereOneFailsAllEndWithItsError) {
  train(config("run", "island=2", {"checkpoint.every=4"}));
  std::filesystem::remove_all(checkpoints_of(path("run") / "island-1"));
  try {
    train(config("run", "island=2", {"checkpoint.every=4", "train.steps=20"}), /*resume=*/true);
    FAIL();
  } catch (const IslandFailed&) {
    FAIL() << "the consequence is not the cause";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("island-1"), std::string::npos) << error.what();
  }
}

TEST_F(IslandTraining, RecordsEachIslandAndAllTogether) {
  train(config("run", "island=2", {"islands.every=4", "train.eval_every=6"}));
  const RunRecord all = read_run(path("run"));
  ASSERT_EQ(all.steps.size(), 12U);
  EXPECT_EQ(all.facts->mesh, "island=2");
  EXPECT_EQ(all.facts->tokens_per_step, 8 * 16);
  const RunRecord first = read_run(path("run") / "island-0"),
                  second = read_run(path("run") / "island-1");
  EXPECT_EQ(first.facts->tokens_per_step, 4 * 16);
  for (size_t i = 0; i < 12; ++i)
    EXPECT_DOUBLE_EQ(all.steps[i].loss, (first.steps[i].loss + second.steps[i].loss) / 2);
  EXPECT_TRUE(known(all.steps.back().held_out_loss));
  const auto islands = read_islands(path("run"));
  ASSERT_EQ(islands.size(), 2U);
  ASSERT_EQ(islands.at(1).size(), 3U);
  EXPECT_EQ(islands.at(1).back().islands, (std::vector<int>{0, 1}));
  EXPECT_EQ(islands.at(1).back().step, 12);
}

TEST_F(IslandTraining, CheckpointsOfAnotherKindOfRunAreRefused) {
  Config plain = config("run", "dp=1", {"checkpoint.every=4", "train.batch=4"});
  plain.run.out = (path("run") / "island-0").string();
  std::filesystem::create_directories(path("run"));
  Trainer(plain, {.quiet = true}).run();
  plain.run.out = (path("run") / "island-1").string();
  Trainer(plain, {.quiet = true}).run();
  EXPECT_THROW(train(config("run", "island=2", {"checkpoint.every=4", "train.steps=20"}), true),
               UserError);
}

}  // namespace
}  // namespace tessera
