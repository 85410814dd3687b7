// SPDX-License-Identifier: Apache-2.0
// Files large enough to go around the page cache; where the file system cannot do that, they go
// through it, and the same must hold.
#include "files/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

class AtomicFileTest : public testing::Test {
 protected:
  // In the folder of the run: /tmp may lie in memory.
  std::filesystem::path path_ =
      std::filesystem::current_path() / ("atomic_file_test_" + std::to_string(::getpid()));
  std::filesystem::path partial_ = path_.string() + ".tmp";
  void TearDown() override { std::filesystem::remove(path_); }
};

std::string made(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 2654435761u >> 13);
  return text;
}

TEST_F(AtomicFileTest, LargeFilesHoldTheirBytesWhereverWritesAndTheEndFall) {
  for (const size_t more : {size_t{4096}, size_t{12'345}}) {
    const std::string text = made((64 << 20) + more);
    AtomicFile file(path_, static_cast<int64_t>(text.size()));
    size_t done = 0;
    for (const size_t count : {size_t{1000}, size_t{8} << 20, size_t{7}, text.size()}) {
      file.write(std::string_view(text).substr(done, count));
      done = std::min(done + count, text.size());
    }
    EXPECT_FALSE(std::filesystem::exists(path_));
    file.commit();
    EXPECT_EQ(file.written_bytes(), static_cast<int64_t>(text.size()));
    ASSERT_EQ(std::filesystem::file_size(path_), text.size());
    std::ifstream stream(path_, std::ios::binary);
    std::string found(text.size(), '\0');
    stream.read(found.data(), static_cast<std::streamsize>(found.size()));
    EXPECT_TRUE(found == text) << more;
    std::filesystem::remove(path_);
    EXPECT_FALSE(std::filesystem::exists(partial_));
  }
}

TEST_F(AtomicFileTest, WritesThroughNoLinkAndOverNothingThatACrashHasLeft) {
  const std::filesystem::path other = path_.string() + ".other";
  for (const bool link : {true, false}) {
    write_file_atomically(other, "somebody's");
    if (link)
      std::filesystem::create_symlink(other, partial_);
    else
      std::filesystem::create_hard_link(other, partial_);
    write_file_atomically(path_, "ours");
    EXPECT_EQ(read_text(other), "somebody's") << link;
    EXPECT_EQ(read_text(path_), "ours");
    EXPECT_FALSE(std::filesystem::is_symlink(path_));
  }
  std::filesystem::remove(other);
}

TEST_F(AtomicFileTest, AWriteOfALargeFileThatFailsLeavesNothing) {
  const std::string text = made(64 << 20);
  int writes = 0;
  const FileWatch watch = [&](FileCall call) {
    return call == FileCall::Write && ++writes == 3 ? ENOSPC : 0;
  };
  {
    AtomicFile file(path_, static_cast<int64_t>(text.size()), watch);
    EXPECT_ANY_THROW({
      file.write(text);
      file.commit();
    });
  }
  EXPECT_EQ(writes, 3);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(partial_));
}

}  // namespace
}  // namespace tessera
