// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_writer.h"

#include <gtest/gtest.h>

#include "checkpoint/newest_valid.h"
#include "checkpoint/testing/small_machine.h"
#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

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

// Numbers every call to the system of one save and fails each of them in turn.
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
          // What was renamed already is whole; only that it lasts was not confirmed.
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
  for (int step = 1; step <= 8; ++step) ASSERT_EQ(save(machine_, keeps, step).error, "");
  EXPECT_EQ(steps(), (std::vector<int64_t>{3, 6, 7, 8}));
}

TEST_F(CheckpointWriterTest, WhatIsNoCheckpointDoesNotCountAsKept) {
  for (int step = 1; step <= 2; ++step) ASSERT_TRUE(save(machine_, options(), step).saved);
  std::filesystem::resize_file(step_folder(folder_.path(), 2) / "rank-00000.safetensors", 9);
  ASSERT_EQ(save(machine_, options(), 3).error, "");
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 3}));
  std::filesystem::remove(step_folder(folder_.path(), 3) / kManifestName);
  ASSERT_EQ(save(machine_, options(), 4).error, "");
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 3, 4}));
}

// The disk has taken every byte, and one of them is another.
TEST_F(CheckpointWriterTest, PrunesNothingWhenTheNewOneDoesNotVerify) {
  for (int step = 1; step <= 2; ++step) ASSERT_TRUE(save(machine_, options(), step).saved);
  for (const int rank : {0, 1}) {
    FaultPlan faults(fmt::format("phase=write,rank={},nth=4,action=rot", rank));
    const SaveOutcome outcome = save(machine_, options(&faults), 3);
    EXPECT_NE(outcome.error.find("does not verify"), std::string::npos) << outcome.error;
    EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 3}));
    EXPECT_EQ(newest_valid(folder_.path()).checkpoint->facts().position.step, 2);
  }
}

TEST_F(CheckpointWriterTest, PrunesNothingWhenItCannotRemove) {
  for (int step = 1; step <= 2; ++step) ASSERT_TRUE(save(machine_, options(), step).saved);
  FaultPlan faults("phase=prune,action=io_error");
  const SaveOutcome outcome = save(machine_, options(&faults), 3);
  EXPECT_TRUE(outcome.saved);
  EXPECT_NE(outcome.error.find("cannot remove"), std::string::npos);
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 3}));
}

TEST_F(CheckpointWriterTest, ReplacesABadCheckpointOfTheSameStep) {
  ASSERT_TRUE(save(machine_, options(), 1).saved);
  std::filesystem::resize_file(step_folder(folder_.path(), 1) / "rank-00001.safetensors", 100);
  EXPECT_FALSE(newest_valid(folder_.path()).checkpoint.has_value());
  ASSERT_TRUE(save(machine_, options(), 1).saved);
  EXPECT_TRUE(newest_valid(folder_.path()).checkpoint.has_value());
  EXPECT_EQ(partials(), 0);
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

}  // namespace
}  // namespace tessera
