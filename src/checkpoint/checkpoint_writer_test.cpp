// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_writer.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/small_machine.h"
#include "comm/local/run_ranks.h"
#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

constexpr const char *kRun = "0123456789abcdef", *kOtherRun = "fedcba9876543210";

class CheckpointWriterTest : public testing::Test {
 protected:
  CheckpointWriterOptions options(FaultPlan* faults = nullptr) const {
    return {.folder = folder_.path(), .faults = faults};
  }
  std::vector<int64_t> steps() const {
    std::vector<int64_t> found;
    for (const StepFolder& step : step_folders(folder_.path())) found.push_back(step.step);
    return found;
  }
  int partials() const {
    int count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      count += entry.path().extension() == ".tmp" ? 1 : 0;
    return count;
  }

  TemporaryFolder folder_;
  SmallMachine machine_{{"mesh=dp=2", "model.layers=1"}};
};

TEST_F(CheckpointWriterTest, StoresTheStatesOfTheMomentThatItWasCalledAt) {
  CheckpointWriter writer(machine_.executor().rank_states(), options());
  machine_.train_step(1);
  const auto at_save = machine_.states();
  writer.save(facts_at(1));
  for (int step = 2; step < 6; ++step) machine_.train_step(step);
  writer.finish();
  ASSERT_NE(machine_.states(), at_save);
  Checkpoint(step_folder(folder_.path(), 1)).load_states(machine_.executor());
  EXPECT_EQ(machine_.states(), at_save);
}

TEST_F(CheckpointWriterTest, TellsWhatItWasACheckpointOf) {
  const SaveOutcome outcome = save(machine_, options(), 7);
  const Checkpoint checkpoint(outcome.path);
  EXPECT_EQ(checkpoint.facts().position.step, 7);
  EXPECT_EQ(checkpoint.facts().position.next_sample, 28);
  EXPECT_EQ(checkpoint.facts().position.tokens, 448);
  EXPECT_EQ(checkpoint.facts().seed, 1);
  EXPECT_EQ(checkpoint.facts().config_toml, "# of a test\n");
  EXPECT_EQ(outcome.bytes, checkpoint.manifest().bytes());
}

// Numbers every system call of one save and makes each of them fail in turn.
TEST_F(CheckpointWriterTest, FailsAtAnyCallAndLeavesTheOldCheckpointAndNoTrace) {
  ASSERT_TRUE(save(machine_, options(), 1).saved);
  int failures = 0;
  for (const char* action : {"no_space", "io_error"})
    for (const char* phase : {"write", "fsync", "rename", "manifest"})
      for (const int rank : {0, 1})
        for (int nth = 1; nth < 100; ++nth) {
          FaultPlan faults(
              fmt::format("rank={},phase={},step=2,nth={},action={}", rank, phase, nth, action));
          const SaveOutcome outcome = save(machine_, options(&faults), 2);
          if (outcome.saved) {
            std::filesystem::remove_all(outcome.path);
            break;
          }
          ++failures;
          EXPECT_NE(outcome.error.find(std::string(action) == "no_space" ? "no space left on device"
                                                                         : "input/output error"),
                    std::string::npos)
              << outcome.error;
          // What was renamed is complete; only its durability was not confirmed.
          if (steps().size() == 2) {
            Checkpoint(step_folder(folder_.path(), 2)).verify();
            std::filesystem::remove_all(step_folder(folder_.path(), 2));
          }
          EXPECT_EQ(steps(), std::vector<int64_t>{1});
          EXPECT_EQ(partials(), 0) << phase << " " << nth;
          EXPECT_EQ(newest_valid(folder_.path()).checkpoint->facts().position.step, 1);
        }
  EXPECT_GT(failures, 150);
  EXPECT_TRUE(save(machine_, options(), 2).saved);
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2}));
}

TEST_F(CheckpointWriterTest, KeepsTheNewestAndEveryMth) {
  CheckpointWriterOptions keeps = options();
  keeps.retention = {.keep = 2, .keep_every = 3};
  CheckpointWriter writer(machine_.executor().rank_states(), keeps);
  for (int step = 1; step <= 8; ++step) ASSERT_EQ(save(writer, step).error, "");
  EXPECT_EQ(steps(), (std::vector<int64_t>{3, 6, 7, 8}));
}

TEST_F(CheckpointWriterTest, PrunesWhatAnEarlierStartOfItsRunHasSavedAndNothingOfOthers) {
  for (const auto& [step, run] : std::map<int64_t, std::string>{
           {1, ""}, {2, kOtherRun}, {3, kRun}, {4, kRun}, {5, kRun}, {700, kOtherRun}})
    ASSERT_TRUE(save(machine_, options(), step, run).saved);
  CheckpointWriterOptions mine = options();
  mine.run = kRun;
  CheckpointWriter writer(machine_.executor().rank_states(), mine);
  writer.continue_from(5);
  EXPECT_EQ(save(writer, 6, kRun).aside, std::vector{folder_.path() / "step-00000700.aside"});
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 5, 6}));
  for (int step = 7; step <= 9; ++step) ASSERT_EQ(save(writer, step, kRun).error, "");
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 8, 9}));
}

// Recovery found the newest one corrupt and resumed from an older one.
TEST_F(CheckpointWriterTest, KeepsWhatItWritesBelowARottenCheckpoint) {
  for (const int64_t step : {50, 100}) ASSERT_TRUE(save(machine_, options(), step, kRun).saved);
  CheckpointWriterOptions mine = options();
  mine.run = kRun;
  mine.retention = {.keep = 1, .keep_every = 50};
  CheckpointWriter writer(machine_.executor().rank_states(), mine);
  writer.continue_from(50);
  for (const int64_t step : {60, 70, 80}) {
    const SaveOutcome outcome = save(writer, step, kRun);
    EXPECT_EQ(outcome.error, "");
    EXPECT_TRUE(std::filesystem::exists(outcome.path / kManifestName));
    EXPECT_EQ(steps(), (std::vector<int64_t>{50, step}));
  }
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "step-00000100.aside" / kManifestName));
}

TEST_F(CheckpointWriterTest, PrunesWithoutReadingWhatIsToGo) {
  CheckpointWriter writer(machine_.executor().rank_states(), options());
  for (int step = 1; step <= 2; ++step) ASSERT_TRUE(save(writer, step).saved);
  std::filesystem::remove(step_folder(folder_.path(), 1) / kManifestName);
  ASSERT_EQ(save(writer, 3).error, "");
  EXPECT_EQ(steps(), (std::vector<int64_t>{2, 3}));
}

// The disk accepted every byte, but changed one of them.
TEST_F(CheckpointWriterTest, PrunesNothingWhenTheNewOneDoesNotVerify) {
  for (const int rank : {0, 1}) {
    const TemporaryFolder folder;
    FaultPlan faults(fmt::format("phase=write,step=3,rank={},nth=4,action=rot", rank));
    CheckpointWriterOptions rotting = options(&faults);
    rotting.folder = folder.path();
    CheckpointWriter writer(machine_.executor().rank_states(), rotting);
    for (int step = 1; step <= 2; ++step) ASSERT_TRUE(save(writer, step).saved);
    const SaveOutcome outcome = save(writer, 3);
    EXPECT_NE(outcome.error.find("verification failed"), std::string::npos) << outcome.error;
    EXPECT_EQ(step_folders(folder.path()).size(), 3u);
    EXPECT_EQ(newest_valid(folder.path()).checkpoint->facts().position.step, 2);
    EXPECT_EQ(save(writer, 4).error, "");
    EXPECT_EQ(step_folders(folder.path()).size(), 3u) << "2, the corrupt 3, and 4";
  }
}

TEST_F(CheckpointWriterTest, PrunesNothingWhenItCannotRemove) {
  FaultPlan faults("phase=prune,action=io_error");
  CheckpointWriter writer(machine_.executor().rank_states(), options(&faults));
  for (int step = 1; step <= 2; ++step) ASSERT_TRUE(save(writer, step).saved);
  const SaveOutcome outcome = save(writer, 3);
  EXPECT_TRUE(outcome.saved);
  EXPECT_NE(outcome.error.find("cannot remove"), std::string::npos);
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 3}));
}

TEST_F(CheckpointWriterTest, SetsAsideWhatStandsInItsPlace) {
  for (const char* aside : {"step-00000001.aside", "step-00000001.aside-2"}) {
    ASSERT_TRUE(save(machine_, options(), 1).saved);
    std::filesystem::resize_file(step_folder(folder_.path(), 1) / "rank-00001.safetensors", 100);
    EXPECT_FALSE(newest_valid(folder_.path()).checkpoint.has_value());
    const SaveOutcome outcome = save(machine_, options(), 1);
    ASSERT_TRUE(outcome.saved);
    EXPECT_EQ(outcome.aside, std::vector{folder_.path() / aside});
    EXPECT_TRUE(newest_valid(folder_.path()).checkpoint.has_value());
    EXPECT_EQ(partials(), 0);
    std::filesystem::remove_all(outcome.path);
  }
}

TEST_F(CheckpointWriterTest, RemovesWhatACrashHasLeft) {
  ASSERT_TRUE(save(machine_, options(), 1).saved);
  folder_.write("step-00000002.tmp/rank-00000.safetensors.tmp", "half");
  EXPECT_EQ(steps(), std::vector<int64_t>{1});
  remove_partials(folder_.path());
  EXPECT_EQ(partials(), 0);
  EXPECT_EQ(steps(), std::vector<int64_t>{1});
}

TEST_F(CheckpointWriterTest, TakesTheMemoryThatThePlanSays) {
  const Snapshot snapshot(machine_.executor().rank_states());
  EXPECT_GE(snapshot.bytes(), snapshot_bytes(machine_.executor().program()));
  EXPECT_LT(snapshot.bytes(), snapshot_bytes(machine_.executor().program()) * 21 / 20);
}

TEST_F(CheckpointWriterTest, SaysThatTheFolderIsGoneAndMakesNoOtherInItsPlace) {
  const std::filesystem::path checkpoints = folder_.path() / "run" / "checkpoints";
  const Generation generation(checkpoints);
  const CheckpointWriterOptions mine{
      .folder = checkpoints, .generation = generation.number(), .fence = &generation};
  CheckpointWriter writer(machine_.executor().rank_states(), mine);
  std::filesystem::remove_all(folder_.path() / "run");
  for (const bool bare : {false, true}) {
    if (bare) std::filesystem::create_directories(checkpoints);  // as an unmounted disk leaves it
    const SaveOutcome outcome = save(writer, 1);
    EXPECT_FALSE(outcome.saved);
    EXPECT_FALSE(outcome.fenced);
    EXPECT_NE(outcome.error.find("is no longer the folder that this run began in"),
              std::string::npos)
        << outcome.error;
    EXPECT_EQ(std::filesystem::exists(checkpoints), bare);
  }
  EXPECT_TRUE(std::filesystem::is_empty(checkpoints));
}

TEST_F(CheckpointWriterTest, OfAStaleGenerationChangesNothing) {
  const Generation stale(folder_.path());
  CheckpointWriterOptions mine = options();
  mine.generation = stale.number();
  mine.fence = &stale;
  machine_.train_step(1);
  ASSERT_TRUE(save(machine_, mine, 1).saved);
  const Generation newer(folder_.path());
  machine_.train_step(2);
  const SaveOutcome outcome = save(machine_, mine, 2);
  EXPECT_FALSE(outcome.saved);
  EXPECT_TRUE(outcome.fenced);
  EXPECT_EQ(step_folders(folder_.path()).size(), 1u);
}

// As on machines that each have their own disk.
TEST(CheckpointWriter, SavesNothingWhereRanksSeeDifferentFolders) {
  const TemporaryFolder folder, elsewhere;
  run_ranks(2, [&](RankWorld& world) {
    SmallMachine machine({"mesh=dp=2", "model.layers=1"}, &world);
    const auto peers = world.everyone("checkpoints");
    const SaveOutcome outcome =
        save(machine,
             {.folder = world.rank() == 0 ? folder.path() : elsewhere.path(),
              .peers = peers.get(),
              .patience_seconds = 0},
             1);
    EXPECT_FALSE(outcome.saved);
    EXPECT_NE(outcome.error.find("rank-00001.safetensors does not exist"), std::string::npos)
        << outcome.error;
    EXPECT_NE(outcome.error.find("do all ranks see the same folder?"), std::string::npos);
  });
  EXPECT_TRUE(step_folders(folder.path()).empty());
}

}  // namespace
}  // namespace tessera
