// SPDX-License-Identifier: Apache-2.0
// Runs whose experts need more room than their pools have: what is repeated must not show in the
// numbers.
#include "train/expert_room.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/snapshot.h"
#include "core/testing/temporary_folder.h"
#include "train/trainer.h"

namespace tessera {
namespace {

Config small_mixture(const std::filesystem::path& out, std::vector<std::string> more) {
  std::vector<std::string> overrides{"model.preset=tiny-moe",
                                     "model.layers=2",
                                     "model.width=32",
                                     "model.heads=2",
                                     "model.kv_heads=1",
                                     "model.head_size=16",
                                     "model.expert_mlp_size=24",
                                     "train.batch=4",
                                     "train.seq=24",
                                     "train.steps=8",
                                     "train.eval_every=4",
                                     "train.eval_batches=2",
                                     "train.microbatches=2",
                                     "train.ema_decay=0.9",
                                     "checkpoint.every=2",
                                     "data.story_bytes=100000",
                                     "train.threads=2",
                                     "run.peak_gflops=100",
                                     "mesh=pp=2,ep=2",
                                     "run.out=" + out.string()};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return load_config(std::nullopt, overrides);
}

TrainSummary train(const Config& config) { return Trainer(config, {.quiet = true}).run(); }

std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(read_text(file));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// Loss, norm and the like; not what depends on the clock or on memory.
std::vector<nlohmann::json> numbers(const std::filesystem::path& run) {
  std::vector<nlohmann::json> lines = lines_of(run / "metrics.jsonl");
  for (nlohmann::json& line : lines) {
    for (const char* key : {"peak_bytes", "slowest_rank"}) line.erase(key);
    for (const StepField& field : step_fields())
      if (field.unit == Unit::Seconds || field.unit == Unit::PerSecond || field.unit == Unit::Share)
        line.erase(field.key);
  }
  return lines;
}

TEST(ExpertRoom, IsATenthMoreThanWasNeededInSixteenths) {
  EXPECT_EQ(room_for_need(1, 1.25), 1.375);
  EXPECT_EQ(room_for_need(1.5, 1.26), 2.125);
  EXPECT_GT(room_for_need(1, 1 + 1e-9), 1);
}

// Pools of the mean are too small in the first step; evaluations, checkpoints, averages and traces
// are to notice nothing.
TEST(ExpertRoom, OfTheMeanGivesTheBitsOfTheWorst) {
  const TemporaryFolder folder;
  const auto with_room = [&](const std::string& room) {
    return small_mixture(
        folder.path() / room,
        {"run.trace=" + (folder.path() / (room + ".json")).string(), "plan.expert_room=" + room});
  };
  const TrainSummary worst = train(with_room("worst")), mean = train(with_room("1"));
  EXPECT_EQ(mean.losses, worst.losses);
  EXPECT_EQ(mean.held_out_loss, worst.held_out_loss);
  EXPECT_LT(mean.planned_bytes, worst.planned_bytes);
  EXPECT_EQ(numbers(folder.path() / "1"), numbers(folder.path() / "worst"));
  for (int rank = 0; rank < 4; ++rank) {
    const auto shard = [&](const char* run) {
      return read_text(step_folder(checkpoints_of(folder.path() / run), 8) /
                       fmt::format("rank-{:05}.safetensors", rank));
    };
    EXPECT_EQ(shard("1"), shard("worst")) << rank;
  }
  int repeats = 0;
  double room = 1;
  for (const nlohmann::json& event : lines_of(folder.path() / "1" / "events.jsonl")) {
    if (event["event"] != "expert_room") continue;
    ++repeats;
    EXPECT_GT(event["need"].get<double>(), 1);
    EXPECT_EQ(event["room"].get<double>(), room_for_need(room, event["need"].get<double>()));
    room = event["room"].get<double>();
  }
  EXPECT_GT(repeats, 0);
}

// Pools of the mean just fit; a step needs more.
TEST(ExpertRoom, BeyondTheMemoryIsAnErrorThatSaysSo) {
  const TemporaryFolder folder;
  const auto with_memory = [&](int64_t bytes) {
    return small_mixture(folder.path() / "run",
                         {"plan.expert_room=1", "plan.recompute=fit", "checkpoint.every=0",
                          fmt::format("plan.memory={}B", bytes)});
  };
  int64_t too_small = 1000, enough = int64_t{1} << 26;
  while (enough - too_small > 100) {
    const int64_t tried = (too_small + enough) / 2;
    try {
      compile_beside_snapshot(resolve(with_memory(tried)));
      enough = tried;
    } catch (const UserError&) {
      too_small = tried;
    }
  }
  try {
    train(with_memory(enough));
    ADD_FAILURE() << "more room fits " << enough << " bytes";
  } catch (const UserError& error) {
    EXPECT_TRUE(error.message().starts_with("experts need ")) << error.message();
    EXPECT_NE(error.message().find("more room does not fit"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
