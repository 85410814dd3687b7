// SPDX-License-Identifier: Apache-2.0
#include "files/regular_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

TEST(RegularFile, KnowsItsSize) {
  const TemporaryFolder folder;
  const auto path = folder.write("x", "hello");
  EXPECT_EQ(open_regular_file(path).bytes(), 5);
  EXPECT_EQ(find_regular_file(path)->bytes(), 5);
}

TEST(RegularFile, IsNoFolderAndNoPipe) {
  const TemporaryFolder folder;
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::filesystem::path& path : {folder.path(), pipe}) {
    const std::string wanted = "cannot read " + path.string() + ": not a regular file";
    EXPECT_EQ(user_error_of([&] { open_regular_file(path); }), wanted);
    EXPECT_EQ(user_error_of([&] { find_regular_file(path); }), wanted);
  }
}

TEST(RegularFile, ThatIsNotThereIsToldApartFromOneThatCannotBeOpened) {
  const TemporaryFolder folder;
  const std::filesystem::path loop = folder.path() / "loop";
  std::filesystem::create_symlink("loop", loop);
  EXPECT_FALSE(find_regular_file(folder.path() / "none"));
  EXPECT_FALSE(find_regular_file(folder.write("x", "") / "below"));
  EXPECT_THROW(open_regular_file(folder.path() / "none"), UserError);
  EXPECT_THROW(find_regular_file(loop), StorageError);
}

}  // namespace
}  // namespace tessera
