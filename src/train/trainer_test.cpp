// SPDX-License-Identifier: Apache-2.0
// Runs of a very small model: what stops and goes on must not show in the numbers.
#include "train/trainer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>

#include "data/testing/megatron_bytes.h"

namespace tessera {
namespace {

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("tessera_trainer_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Config config(const std::string& run, std::vector<std::string> more = {}) const {
    std::vector<std::string> overrides{"model.preset=tiny",
                                       "model.layers=2",
                                       "model.width=32",
                                       "model.heads=2",
                                       "model.kv_heads=1",
                                       "model.head_size=16",
                                       "model.mlp_size=64",
                                       "train.batch=4",
                                       "train.seq=24",
                                       "train.steps=8",
                                       "train.warmup_steps=2",
                                       "train.eval_every=4",
                                       "train.eval_batches=2",
                                       "data.story_bytes=100000",
                                       "train.threads=2",
                                       "run.peak_gflops=100",
                                       "run.out=" + (folder_ / run).string()};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return load_config(std::nullopt, overrides);
  }

  TrainSummary train(const Config& config, bool resume = false) const {
    return Trainer(config, {.resume = resume, .overwrite = false, .quiet = true}).run();
  }

  std::filesystem::path checkpoint_of(const std::string& run, int64_t step) const {
    return step_folder(checkpoints_of(folder_ / run), step);
  }

  // What a metrics file says, without what depends on the clock.
  std::vector<nlohmann::json> numbers(const std::string& run) const {
    std::ifstream file(folder_ / run / "metrics.jsonl");
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(file, line);) {
      nlohmann::json json = nlohmann::json::parse(line);
      for (const StepField& field : step_fields())
        if (field.unit == Unit::Seconds || field.unit == Unit::PerSecond ||
            field.unit == Unit::Share)
          json.erase(field.key);
      lines.push_back(json);
    }
    return lines;
  }

  std::filesystem::path folder_;
};

// Resumed from step 4 of 7: the lines of 6 and 7 are dropped and written again.
TEST_F(TrainerTest, ARunOnRanksRecordsThemAndAResumeDropsLinesAfterItsStep) {
  const std::vector<std::string> settings{"mesh=dp=2", "train.log_every=2", "checkpoint.every=4",
                                          "checkpoint.keep=9"};
  const auto steps = [&] {
    std::ifstream file(folder_ / "run" / kRanksFile);
    std::vector<std::pair<int64_t, int64_t>> found;  // last step, and how many
    for (std::string line; std::getline(file, line);) {
      const std::optional<RankLine> parsed = parse_rank_line(line);
      EXPECT_TRUE(parsed && parsed->ranks == 2 && parsed->compute_seconds[1] > 0) << line;
      found.emplace_back(parsed->step, parsed->steps);
    }
    return found;
  };
  std::vector<std::string> first = settings;
  first.emplace_back("train.steps=7");
  train(config("run", first));
  using Steps = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(steps(), (Steps{{2, 2}, {4, 2}, {6, 2}, {7, 1}}));
  std::filesystem::remove_all(checkpoint_of("run", 7));
  train(config("run", first), true);
  EXPECT_EQ(steps(), (Steps{{2, 2}, {4, 2}, {6, 2}, {7, 1}}));
}

TEST_F(TrainerTest, LossFalls) {
  const TrainSummary summary = train(config("run", {"train.steps=60", "train.learning_rate=0.01"}));
  EXPECT_NEAR(summary.first_loss, std::log(256.0), 0.3);
  EXPECT_LT(summary.last_loss, summary.first_loss - 1.0);
  ASSERT_TRUE(summary.held_out_loss.has_value());
  EXPECT_LT(*summary.held_out_loss, summary.first_loss - 1.0);
}

TEST_F(TrainerTest, NotesAWarmupLongerThanTheRun) {
  const auto said = [&](const char* run, const char* warmup) {
    testing::internal::CaptureStderr();
    const Trainer trainer(config(run, {warmup}), {.resume = false, .overwrite = false});
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said("short", "train.warmup_steps=8"), "");
  EXPECT_TRUE(said("long", "train.warmup_steps=9").starts_with("note: train.warmup_steps (9)"));
}

TEST_F(TrainerTest, MetricsHaveEveryFieldOfEveryStep) {
  train(config("run"));
  const auto lines = numbers("run");
  ASSERT_EQ(lines.size(), 8u);
  for (const char* key : {"step", "loss", "grad_norm", "lr", "tokens", "peak_bytes"})
    EXPECT_TRUE(lines[3].contains(key)) << key;
  EXPECT_EQ(lines[3]["step"], 4);
  EXPECT_EQ(lines[3]["tokens"], 4 * 4 * 24);
  EXPECT_TRUE(lines[3].contains("held_out_loss"));
  EXPECT_FALSE(lines[2].contains("held_out_loss"));
}

TEST_F(TrainerTest, ResumingGivesTheLossesOfARunThatNeverStopped) {
  for (const char* precision : {"fp32", "bf16"}) {
    const std::string set = fmt::format("train.precision={}", precision);
    const std::string whole = fmt::format("whole_{}", precision),
                      parts = fmt::format("parts_{}", precision);
    train(config(whole, {set, "train.ema_decay=0.9", "checkpoint.every=3"}));
    Config stopped = config(parts, {set, "train.ema_decay=0.9", "checkpoint.every=3"});
    train(stopped);
    std::filesystem::remove_all(checkpoint_of(parts, 8));
    const TrainSummary resumed = train(stopped, true);
    EXPECT_EQ(resumed.first_step, 6);
    EXPECT_EQ(numbers(parts), numbers(whole));
  }
}

TEST_F(TrainerTest, MicrobatchesChangeTheLossOnlyByRounding) {
  train(config("one", {"train.precision=fp64"}));
  train(config("two", {"train.precision=fp64", "train.microbatches=2"}));
  const auto one = numbers("one"), two = numbers("two");
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(one[i]["loss"].get<double>(), two[i]["loss"].get<double>(), 1e-11);
    EXPECT_NEAR(one[i]["grad_norm"].get<double>(), two[i]["grad_norm"].get<double>(), 1e-10);
  }
}

TEST_F(TrainerTest, ThreadsDoNotChangeTheBits) {
  train(config("one", {"train.threads=1"}));
  train(config("two", {"train.threads=2"}));
  train(config("again", {"train.threads=2"}));
  const auto bits = [&](const std::string& run) {
    std::vector<double> losses;
    for (const auto& line : numbers(run)) losses.push_back(line["loss"].get<double>());
    return losses;
  };
  EXPECT_EQ(bits("one"), bits("two"));
  EXPECT_EQ(bits("two"), bits("again"));
}

TEST_F(TrainerTest, ASignalBeforeTheFirstStepSavesNothing) {
  Trainer trainer(config("run", {"checkpoint.every=1"}), {.quiet = true});
  std::raise(SIGTERM);
  const TrainSummary summary = trainer.run();
  EXPECT_EQ(summary.stopped_by, "SIGTERM");
  EXPECT_EQ(summary.steps, 0);
  EXPECT_FALSE(summary.checkpoint.has_value());
}

TEST_F(TrainerTest, ASignalFinishesTheStepAndSaves) {
  std::atomic<bool> begun = false;
  std::thread interrupt([&] {
    begun.wait(false);
    std::raise(SIGTERM);
  });
  const auto on_step = [&](const StepRecord& record) {
    begun = record.step >= 3;
    begun.notify_one();
    return std::string();
  };
  const std::vector<std::string> long_run{"train.steps=100000", "checkpoint.every=1000000"};
  const TrainSummary summary =
      Trainer(config("run", long_run), {.quiet = true, .on_step = on_step}).run();
  interrupt.join();
  EXPECT_EQ(summary.stopped_by, "SIGTERM");
  ASSERT_TRUE(summary.checkpoint.has_value());
  EXPECT_EQ(Checkpoint(*summary.checkpoint).facts().position.step, summary.steps);
  EXPECT_EQ(static_cast<int64_t>(numbers("run").size()), summary.steps);
}

TEST_F(TrainerTest, ACallerIsToldOfEveryStepAndStopsTheRunAsASignalWould) {
  std::vector<double> told;
  const auto on_step = [&](const StepRecord& record) {
    told.push_back(record.loss);
    return record.step == 5 ? std::string("enough") : std::string();
  };
  const TrainSummary summary =
      Trainer(config("run", {"checkpoint.every=100"}), {.quiet = true, .on_step = on_step}).run();
  EXPECT_EQ(told, summary.losses);
  EXPECT_EQ(summary.stopped_by, "enough");
  EXPECT_EQ(summary.checkpoint, checkpoint_of("run", 5));
  const Config whole = config("whole", {"train.steps=5"});  // a run that is done was not stopped
  EXPECT_EQ(Trainer(whole, {.quiet = true, .on_step = on_step}).run().stopped_by, "");
}

TEST_F(TrainerTest, SignalsOfACallerStayItsOwn) {
  const auto before = std::signal(SIGTERM, SIG_IGN);
  const Trainer trainer(config("run"), {.quiet = true, .takes_signals = false});
  EXPECT_EQ(std::signal(SIGTERM, before), SIG_IGN);
}

TEST_F(TrainerTest, KeepsOnlyTheNewestCheckpoints) {
  train(config("run", {"checkpoint.every=2", "checkpoint.keep=2"}));
  EXPECT_FALSE(std::filesystem::exists(checkpoint_of("run", 4)));
  EXPECT_TRUE(std::filesystem::exists(checkpoint_of("run", 6)));
  EXPECT_TRUE(std::filesystem::exists(checkpoint_of("run", 8)));
}

TEST_F(TrainerTest, ResumingGivesTheBitsOfARunThatNeverStopped) {
  for (const char* mesh : {"dp=2", "pp=2", "tp=2"}) {
    const std::vector<std::string> more{fmt::format("mesh={}", mesh), "train.microbatches=2",
                                        "train.ema_decay=0.9", "checkpoint.every=4"};
    const std::string whole = fmt::format("whole_{}", mesh), parts = fmt::format("parts_{}", mesh);
    train(config(whole, more));
    train(config(parts, more));
    std::filesystem::remove_all(checkpoint_of(parts, 8));
    EXPECT_EQ(train(config(parts, more), true).first_step, 4);
    const Checkpoint one(checkpoint_of(whole, 8)), other(checkpoint_of(parts, 8));
    ASSERT_GT(one.tensors().size(), 10u);
    for (const auto& [name, tensor] : one.tensors())
      EXPECT_EQ(one.read_whole(name), other.read_whole(name)) << mesh << " " << name;
  }
}

TEST_F(TrainerTest, GoesOnFromAnOlderCheckpointWhereTheNewestIsBrokenAndSaysSo) {
  const Config run = config("run", {"checkpoint.every=3"});
  train(run);
  std::filesystem::resize_file(checkpoint_of("run", 8) / "rank-00000.safetensors", 1000);
  const TrainSummary resumed = train(run, /*resume=*/true);
  EXPECT_EQ(resumed.first_step, 6);
  ASSERT_EQ(resumed.warnings.size(), 2u);
  EXPECT_NE(resumed.warnings[0].find("step-00000008/rank-00000.safetensors"), std::string::npos)
      << resumed.warnings[0];
  EXPECT_NE(resumed.warnings[1].find("step-00000008.aside"), std::string::npos)
      << resumed.warnings[1];
  Checkpoint(checkpoint_of("run", 8)).verify();
}

TEST_F(TrainerTest, GoesOnWhenACheckpointCannotBeSavedAndShoutsIt) {
  FaultPlan faults("phase=write,nth=5,step=4,action=no_space");
  const TrainSummary summary =
      Trainer(config("run", {"checkpoint.every=2"}), {.quiet = true, .faults = &faults}).run();
  EXPECT_EQ(summary.steps, 8);
  EXPECT_EQ(summary.saves, 4);
  EXPECT_EQ(summary.save_error, "");
  ASSERT_EQ(summary.warnings.size(), 1u);
  EXPECT_NE(summary.warnings[0].find("CHECKPOINT OF STEP 4 FAILED"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(checkpoint_of("run", 4)));
  EXPECT_EQ(summary.checkpoint, checkpoint_of("run", 8));
}

TEST_F(TrainerTest, SaysThatTheLastCheckpointWasNotSaved) {
  FaultPlan faults("phase=fsync,step=8,action=io_error");
  const TrainSummary summary =
      Trainer(config("run", {"checkpoint.every=4"}), {.quiet = true, .faults = &faults}).run();
  EXPECT_NE(summary.save_error.find("input/output error"), std::string::npos);
  EXPECT_EQ(summary.checkpoint, checkpoint_of("run", 4));
}

TEST_F(TrainerTest, CountsTheSnapshotAsPlannedMemory) {
  const TrainSummary without = train(config("without"));
  const TrainSummary with = train(config("with", {"checkpoint.every=4"}));
  // Weights and two moments.
  EXPECT_EQ(with.planned_bytes - without.planned_bytes, 3 * 4 * with.parameters);
  EXPECT_EQ(with.saves, 2);
  EXPECT_GT(with.save_stall_seconds, 0);
  EXPECT_GT(with.save_bytes, 3 * 4 * with.parameters);
}

TEST_F(TrainerTest, TheSnapshotHasRoomInAGivenMemory) {
  // What a rank needs without recomputing, and without room for anything else.
  const int64_t needed = train(config("plain")).planned_bytes;
  const auto fitted = [&](const std::string& run, int64_t more_bytes, const char* every) {
    return train(config(
        run, {"plan.recompute=fit", every, fmt::format("plan.memory={}B", needed + more_bytes)}));
  };
  const int64_t snapshot = 3 * 4 * train(config("size")).parameters;
  EXPECT_EQ(fitted("enough", 0, "checkpoint.every=0").planned_bytes, needed);
  EXPECT_EQ(fitted("roomy", snapshot, "checkpoint.every=8").planned_bytes, needed + snapshot);
  EXPECT_LE(fitted("tight", snapshot - 1, "checkpoint.every=8").planned_bytes,
            needed + snapshot - 1);
}

TEST_F(TrainerTest, TheMlpLearnsItsMadeFunction) {
  const TrainSummary summary = train(load_config(
      std::nullopt,
      std::vector<std::string>{"model.preset=mlp", "model.width=64", "train.steps=60",
                               "train.batch=64", "train.learning_rate=0.003", "train.eval_every=0",
                               "run.peak_gflops=100", "run.out=" + (folder_ / "run").string()}));
  EXPECT_LT(summary.last_loss, 0.9 * summary.first_loss);
}

TEST_F(TrainerTest, AMeshLearnsAsOneRankDoes) {
  const TrainSummary one = train(config("one", {"train.precision=fp64"}));
  for (const char* mesh : {"dp=2,tp=2", "cp=2", "tp=2"}) {
    const TrainSummary many =
        train(config(mesh, {"train.precision=fp64", fmt::format("mesh={}", mesh)}));
    ASSERT_EQ(many.losses.size(), one.losses.size());
    for (size_t i = 0; i < one.losses.size(); ++i)
      EXPECT_NEAR(many.losses[i], one.losses[i], 1e-9 * one.losses[i]) << mesh << " step " << i + 1;
    EXPECT_NEAR(*many.held_out_loss, *one.held_out_loss, 1e-9) << mesh;
  }
}

TEST_F(TrainerTest, ACheckpointOfOneLayoutGoesOnUnderAnother) {
  const TrainSummary whole =
      train(config("whole", {"train.precision=fp64", "train.schedule=constant"}));
  train(config("run", {"train.precision=fp64", "train.schedule=constant", "train.steps=4",
                       "checkpoint.every=4", "mesh=fsdp=2,tp=2", "plan.zero=3"}));
  const TrainSummary rest = train(config("run", {"train.precision=fp64", "train.schedule=constant",
                                                 "checkpoint.every=4", "mesh=cp=2"}),
                                  /*resume=*/true);
  ASSERT_EQ(rest.losses.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(rest.losses[i], whole.losses[i + 4], 1e-9);
}

// Two sources of one size, so that equal orders would show; documents masked.
TEST_F(TrainerTest, AMixtureGoesOnAtItsSampleOnAnotherMesh) {
  std::filesystem::create_directories(folder_);
  const auto write = [&](const char* name, const std::vector<uint8_t>& story) {
    std::vector<std::vector<std::vector<uint8_t>>> documents(300, {story});
    const MegatronBytes bytes = megatron_bytes<uint8_t>(1, documents);
    std::ofstream(folder_ / fmt::format("{}.bin", name)) << bytes.bin;
    std::ofstream(folder_ / fmt::format("{}.idx", name)) << bytes.idx;
    return fmt::format("data.mixture.{}=1", (folder_ / fmt::format("{}.bin", name)).string());
  };
  const std::vector<std::string> shared{
      "train.precision=fp64", "train.schedule=constant", write("odd", {1, 3, 5, 7, 9, 11, 13}),
      write("even", {2, 4, 6, 8, 10, 12, 14}), "data.document_mask=true"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), shared.begin(), shared.end());
    return more;
  };
  for (const std::string packing : {"in_order", "best_fit"}) {
    const std::string packed = "data.packing=" + packing;
    const TrainSummary whole = train(config("whole" + packing, with({packed})));
    train(config(packing, with({packed, "train.steps=4", "checkpoint.every=4", "mesh=dp=2"})));
    const TrainSummary rest =
        train(config(packing, with({packed, "checkpoint.every=4", "mesh=tp=2"})), /*resume=*/true);
    ASSERT_EQ(rest.losses.size(), 4u);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(rest.losses[i], whole.losses[i + 4], 1e-9) << packing;
  }
}

TEST_F(TrainerTest, ThePartsOfAStepFitIntoItAndFollowTheMesh) {
  struct Case {
    const char* mesh;
    bool talks, waits;
  };
  for (const Case& each : {Case{"dp=1", false, false}, Case{"dp=2", true, true},
                           Case{"pp=2", false, true}, Case{"pp=2,dp=2", true, true}}) {
    train(config(each.mesh, {fmt::format("mesh={}", each.mesh), "train.microbatches=2"}));
    std::ifstream file(folder_ / each.mesh / "metrics.jsonl");
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line);
      const auto at = [&](const char* key) { return json.at(key).get<double>(); };
      const double parts = at("compute_seconds") + at("exposed_communication_seconds") +
                           at("bubble_seconds") + at("data_seconds");
      EXPECT_LE(parts, 1.0001 * at("step_seconds")) << each.mesh;
      EXPECT_GT(at("compute_seconds"), 0) << each.mesh;
      EXPECT_EQ(at("exposed_communication_seconds") > 0, each.talks) << each.mesh;
      EXPECT_EQ(at("bubble_seconds") > 0, each.waits) << each.mesh;
      EXPECT_GT(at("hfu"), at("mfu")) << each.mesh;
    }
  }
}

TEST_F(TrainerTest, RecordsStartsCheckpointsEndsAndFailures) {
  Config run = config("run", {"checkpoint.every=4"});
  train(run);
  run.train.steps = 12;
  train(run, /*resume=*/true);
  std::vector<std::string> kinds;
  std::ifstream file(folder_ / "run" / "events.jsonl");
  for (std::string line; std::getline(file, line);)
    kinds.push_back(nlohmann::json::parse(line)["event"]);
  // Written while steps run, so anywhere among them.
  EXPECT_EQ(std::erase(kinds, "saved"), 3u);
  EXPECT_EQ(kinds, (std::vector<std::string>{"start", "peak", "evaluation", "checkpoint",
                                             "evaluation", "checkpoint", "end", "start", "peak",
                                             "evaluation", "checkpoint", "end"}));
  EXPECT_THROW(train(config("lost", {"train.learning_rate=1e17", "train.clip_norm=0"})), UserError);
  std::string last;
  std::ifstream lost(folder_ / "lost" / "events.jsonl");
  for (std::string line; std::getline(lost, line);) last = line;
  EXPECT_EQ(nlohmann::json::parse(last)["event"], "failure");
  EXPECT_NE(last.find("the loss is"), std::string::npos) << last;
}

TEST_F(TrainerTest, WritesATraceOfTheFirstSteps) {
  const std::string trace = (folder_ / "trace.json").string();
  const TrainSummary summary =
      train(config("run", {"mesh=dp=2", "run.trace=" + trace, "run.trace_steps=2"}));
  EXPECT_EQ(summary.trace, trace);
  std::ifstream file(trace);
  EXPECT_GT(nlohmann::json::parse(file)["traceEvents"].size(), 100u);
}

}  // namespace
}  // namespace tessera
