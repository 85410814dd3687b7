// SPDX-License-Identifier: Apache-2.0
// Truncated and corrupt files: every change is detected, and an older checkpoint is used.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/small_machine.h"
#include "core/random.h"
#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "files/atomic_file.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

class CheckpointDamage : public testing::Test {
 protected:
  void SetUp() override {
    SmallMachine machine(
        {"mesh=dp=2", "model.layers=1", "model.width=8", "model.heads=2", "model.vocabulary=16"});
    for (const int64_t step : {1, 2}) {
      machine.train_step(step);
      const SaveOutcome outcome = save(machine, {.folder = folder_.path()}, step);
      ASSERT_TRUE(outcome.saved) << outcome.error;
    }
    for (const auto& entry : std::filesystem::directory_iterator(newest())) {
      files_.push_back(entry.path());
      total_bytes_ += entry.file_size();
    }
    ASSERT_EQ(files_.size(), 3u);
    for (const auto& file : files_) whole_.push_back(read_text(file));
  }

  std::filesystem::path newest() const { return step_folder(folder_.path(), 2); }
  static void overwrite(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }
  // The file and offset of the n-th byte of the newest checkpoint.
  std::pair<size_t, size_t> place_of(uint64_t byte) const {
    size_t file = 0;
    while (byte >= whole_[file].size()) byte -= whole_[file++].size();
    return {file, static_cast<size_t>(byte)};
  }
  // The step that a run would resume from.
  int64_t found_step(std::vector<std::string>* skipped = nullptr) const {
    const NewestValid newest = newest_valid(folder_.path());
    if (skipped) *skipped = newest.skipped;
    return newest.checkpoint ? newest.checkpoint->facts().position.step : -1;
  }

  TemporaryFolder folder_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::string> whole_;
  uint64_t total_bytes_ = 0;
};

TEST_F(CheckpointDamage, OfNothingIsNotSeen) {
  std::vector<std::string> skipped;
  EXPECT_EQ(found_step(&skipped), 2);
  EXPECT_TRUE(skipped.empty());
}

TEST_F(CheckpointDamage, EveryFlippedBitIsFoundAndTheOlderOneUsed) {
  const RandomStream random(3, "flips");
  for (uint64_t i = 0; i < 1000; ++i) {
    const auto [file, byte] = place_of(random.bits(2 * i) % total_bytes_);
    std::string bytes = whole_[file];
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << random.bits(2 * i + 1) % 8));
    overwrite(files_[file], bytes);
    std::vector<std::string> skipped;
    ASSERT_EQ(found_step(&skipped), 1) << files_[file] << " byte " << byte;
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_NE(skipped[0].find(files_[file].filename().string()), std::string::npos) << skipped[0];
    overwrite(files_[file], whole_[file]);
  }
  EXPECT_EQ(found_step(), 2);
}

TEST_F(CheckpointDamage, EveryTruncationIsFoundAndTheOlderOneUsed) {
  const RandomStream random(4, "cuts");
  for (size_t file = 0; file < files_.size(); ++file) {
    const size_t bytes = whole_[file].size();
    std::vector<size_t> lengths{0, 1, 7, 8, bytes / 2, bytes - 1};
    for (uint64_t i = 0; i < 30; ++i) lengths.push_back(random.bits(100 * file + i) % bytes);
    for (const size_t length : lengths) {
      overwrite(files_[file], whole_[file].substr(0, length));
      ASSERT_EQ(found_step(), 1) << files_[file] << " cut to " << length;
    }
    overwrite(files_[file], whole_[file] + "x");
    ASSERT_EQ(found_step(), 1) << files_[file] << " with a byte more";
    std::filesystem::remove(files_[file]);
    ASSERT_EQ(found_step(), 1) << files_[file] << " removed";
    overwrite(files_[file], whole_[file]);
  }
  EXPECT_EQ(found_step(), 2);
}

TEST_F(CheckpointDamage, AShardOfAnotherStepIsFound) {
  for (size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].filename() == kManifestName) continue;
    overwrite(files_[i], read_text(step_folder(folder_.path(), 1) / files_[i].filename()));
    EXPECT_EQ(found_step(), 1) << files_[i];
    overwrite(files_[i], whole_[i]);
  }
}

TEST_F(CheckpointDamage, ACopyUnderTheNameOfAnotherStepIsNotTakenForIt) {
  std::filesystem::copy(step_folder(folder_.path(), 1), step_folder(folder_.path(), 99999999));
  std::vector<std::string> skipped;
  EXPECT_EQ(found_step(&skipped), 2);
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_NE(skipped[0].find("is named as step 99999999, but its manifest is of step 1"),
            std::string::npos)
      << skipped[0];
}

TEST_F(CheckpointDamage, OfAFolderThatCannotBeListedIsNoEmptyFolder) {
  EXPECT_THROW(newest_valid(folder_.path() / "step-00000001" / kManifestName), StorageError);
  std::filesystem::create_directory_symlink("checkpoints", folder_.path() / "checkpoints");
  EXPECT_THROW(newest_valid(folder_.path() / "checkpoints"), StorageError);
  EXPECT_THROW(remove_partials(folder_.path() / "checkpoints"), StorageError);
}

TEST_F(CheckpointDamage, OfAllOfThemLeavesNone) {
  for (const int64_t step : {1, 2})
    overwrite(step_folder(folder_.path(), step) / kManifestName, "{}");
  std::vector<std::string> skipped;
  EXPECT_EQ(found_step(&skipped), -1);
  EXPECT_EQ(skipped.size(), 2u);
}

// No writer makes such a manifest: the parts are whole and have all of the tensor's elements, but
// two of them are the same ones.
TEST(OverlappingParts, AreNotTakenForAWholeTensor) {
  const TemporaryFolder folder;
  SmallMachine machine({"mesh=tp=2", "model.layers=1", "model.width=8", "model.heads=2",
                        "model.kv_heads=2", "model.vocabulary=16"});
  machine.train_step(1);
  ASSERT_TRUE(save(machine, {.folder = folder.path()}, 1).saved);
  const std::filesystem::path step = step_folder(folder.path(), 1), file = step / kManifestName;
  Manifest manifest = parse_manifest(read_text(file), file);
  const auto part_of = [&](size_t rank) {
    return std::ranges::find(manifest.files.at(rank).pieces, "layer.0.down", &StoredPiece::name);
  };
  part_of(1)->piece.first = part_of(0)->piece.first;
  write_file_atomically(file, to_text(manifest));
  EXPECT_EQ(user_error_of([&] { Checkpoint(step).load_states(machine.executor()); }),
            fmt::format("{}: the parts of layer.0.down do not cover all of it", step.string()));
}

}  // namespace
}  // namespace tessera
