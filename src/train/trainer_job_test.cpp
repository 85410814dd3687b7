// SPDX-License-Identifier: Apache-2.0
// Trainers that are one rank each, as under mpirun; here the ranks are threads.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "comm/local/run_ranks.h"
#include "core/testing/temporary_folder.h"
#include "train/trainer.h"

namespace tessera {
namespace {

Config small_config(const std::filesystem::path& out, std::vector<std::string> more) {
  std::vector<std::string> overrides{
      "model.preset=mlp",        "model.width=16",          "model.mlp_size=16",
      "train.steps=3",           "train.batch=8",           "train.eval_every=0",
      "train.threads=1",         "train.precision=fp64",    "run.peak_gflops=100",
      "run.out=" + out.string(), "train.learning_rate=1e-2"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return load_config(std::nullopt, overrides);
}

// A world whose ranks are on machines of their own.
class RankPerMachine : public RankWorld {
 public:
  explicit RankPerMachine(RankWorld& world) : world_(world) {}
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  std::unique_ptr<Communicator> group(const std::vector<int>& ranks, std::string name) override {
    return world_.group(ranks, std::move(name));
  }
  std::string machine() const override { return "machine" + std::to_string(rank()); }

 private:
  RankWorld& world_;
};

// What rank 0 has to say.
TrainSummary train_as_job(const Config& config, int ranks, bool apart = false, bool resume = false,
                          FaultPlan* faults = nullptr) {
  TrainSummary summary;
  run_ranks(ranks, [&](RankWorld& world) {
    RankPerMachine elsewhere(world);
    TrainSummary own = Trainer(config, {.resume = resume,
                                        .quiet = true,
                                        .world = apart ? &elsewhere : &world,
                                        .faults = faults})
                           .run();
    if (world.rank() == 0) summary = std::move(own);
  });
  return summary;
}

TEST(TrainerJob, HasTheLossesOfThreads) {
  const TemporaryFolder folder;
  const TrainSummary job = train_as_job(small_config(folder.path() / "job", {"mesh=dp=2,tp=2"}), 4);
  const TrainSummary threads =
      Trainer(small_config(folder.path() / "threads", {"mesh=dp=2,tp=2"}), {.quiet = true}).run();
  EXPECT_EQ(job.losses, threads.losses);
}

TEST(TrainerJob, GoesOnFromWhatThreadsHaveSavedAndTheOtherWayRound) {
  const TemporaryFolder folder;
  const std::vector<std::string> more{"train.steps=6", "checkpoint.every=3", "mesh=dp=2,tp=2"};
  const auto at = [&](const char* run, int64_t step) {
    return step_folder(checkpoints_of(folder.path() / run), step);
  };
  const Config threads = small_config(folder.path() / "threads", more);
  const Config job = small_config(folder.path() / "job", more);
  const TrainSummary whole = Trainer(threads, {.quiet = true}).run();
  train_as_job(job, 4);
  std::filesystem::remove_all(at("threads", 6));
  std::filesystem::remove_all(at("job", 6));
  const TrainSummary as_job = train_as_job(threads, 4, false, /*resume=*/true);
  const TrainSummary as_threads = Trainer(job, {.resume = true, .quiet = true}).run();
  EXPECT_EQ(as_job.first_step, 3);
  EXPECT_EQ(as_job.losses, std::vector(whole.losses.begin() + 3, whole.losses.end()));
  EXPECT_EQ(as_threads.losses, as_job.losses);
}

TEST(TrainerJob, OfWhichOneCannotWriteGoesOn) {
  const TemporaryFolder folder;
  FaultPlan faults("rank=2,phase=rename,step=2,action=io_error");
  const TrainSummary summary =
      train_as_job(small_config(folder.path() / "job", {"checkpoint.every=1", "mesh=dp=2,tp=2"}), 4,
                   false, false, &faults);
  EXPECT_EQ(summary.steps, 3);
  ASSERT_EQ(summary.warnings.size(), 1u);
  EXPECT_NE(summary.warnings[0].find("rank 2: cannot write"), std::string::npos)
      << summary.warnings[0];
  std::vector<int64_t> steps;
  for (const StepFolder& step : step_folders(checkpoints_of(folder.path() / "job")))
    steps.push_back(step.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 3}));
}

TEST(TrainerJob, WritesOneTraceWithEveryRankInIt) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "trace.json";
  const TrainSummary summary = train_as_job(
      small_config(folder.path() / "job", {"mesh=dp=2,tp=2", "run.trace=" + file.string()}), 4);
  EXPECT_EQ(summary.trace, file.string());
  std::map<int, int> kernels, collectives;
  std::set<int> named;
  const nlohmann::json trace = nlohmann::json::parse(read_text(file));
  for (const auto& event : trace["traceEvents"]) {
    const int rank = event["pid"];
    if (event["name"] == "process_name") named.insert(rank);
    if (event["ph"] != "X") continue;
    ++(event["tid"] == 0 ? kernels : collectives)[rank];
    EXPECT_GE(event["ts"].get<double>(), 0.0);
  }
  EXPECT_EQ(named, (std::set<int>{0, 1, 2, 3}));
  ASSERT_EQ(kernels.size(), 4u);
  ASSERT_EQ(collectives.size(), 4u);
  for (int rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(kernels[rank], kernels[0]);
    EXPECT_EQ(collectives[rank], collectives[0]);
  }
}

TEST(TrainerJob, WarnsWhereTpLeavesAMachine) {
  const TemporaryFolder folder;
  const Config tp = small_config(folder.path() / "tp", {"mesh=tp=2"});
  const Config dp = small_config(folder.path() / "dp", {"mesh=dp=2"});
  const TrainSummary apart = train_as_job(tp, 2, /*apart=*/true);
  ASSERT_EQ(apart.warnings.size(), 1u);
  EXPECT_EQ(apart.warnings[0].substr(0, 36), "a group of tp = 2 leaves its machine");
  EXPECT_TRUE(train_as_job(dp, 2, /*apart=*/true).warnings.empty());
}

TEST(TrainerJob, IsSilentWhereRanksShareAMachine) {
  const TemporaryFolder folder;
  EXPECT_TRUE(train_as_job(small_config(folder.path() / "tp", {"mesh=tp=2"}), 2).warnings.empty());
}

TEST(TrainerJob, AsProcessesHasTheBitsOfThreads) {
  const TemporaryFolder folder;
  const std::vector<std::string> more{"mesh=dp=2,tp=2", "checkpoint.every=3"};
  Trainer(small_config(folder.path() / "threads", more), {.quiet = true}).run();
  LocalHub hub({.ranks = 4, .arena_bytes = int64_t{256} << 20, .processes = true});
  run_ranks(hub, [&](RankWorld& world) {
    Trainer(small_config(folder.path() / "processes", more), {.quiet = true, .world = &world})
        .run();
  });
  const auto shard = [&](const char* run, int rank) {
    return read_text(step_folder(checkpoints_of(folder.path() / run), 3) /
                     fmt::format("rank-{:05}.safetensors", rank));
  };
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(shard("processes", rank), shard("threads", rank)) << rank;
    EXPECT_FALSE(shard("threads", rank).empty());
  }
}

// All of them see the same need, and repeat the same steps.
TEST(TrainerJob, RepeatsStepsWhoseExpertsNeedMoreRoom) {
  const TemporaryFolder folder;
  const auto with_room = [&](const char* run, const char* room) {
    return small_config(
        folder.path() / run,
        {"model.preset=tiny-moe", "model.layers=2", "model.width=32", "model.heads=2",
         "model.kv_heads=1", "model.expert_mlp_size=24", "train.seq=24", "data.story_bytes=100000",
         "mesh=dp=2,ep=2", std::string("plan.expert_room=") + room});
  };
  const TrainSummary worst = Trainer(with_room("worst", "worst"), {.quiet = true}).run();
  EXPECT_EQ(train_as_job(with_room("job", "1"), 4).losses, worst.losses);
  EXPECT_NE(read_text(folder.path() / "job" / "events.jsonl").find("expert_room"),
            std::string::npos);
  LocalHub hub({.ranks = 4, .arena_bytes = int64_t{256} << 20, .processes = true});
  run_ranks(hub, [&](RankWorld& world) {
    Trainer(with_room("processes", "1"), {.quiet = true, .world = &world}).run();
  });
  const std::string metrics = read_text(folder.path() / "processes" / "metrics.jsonl");
  for (const double loss : worst.losses)
    EXPECT_NE(metrics.find(fmt::format("\"loss\":{}", loss)), std::string::npos) << metrics;
}

}  // namespace
}  // namespace tessera
