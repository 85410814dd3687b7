// SPDX-License-Identifier: Apache-2.0
#include "files/folder.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

TEST(ListFolder, GivesEveryEntry) {
  const TemporaryFolder folder;
  folder.write("a", "");
  folder.write("b/c", "");
  EXPECT_EQ(list_folder(folder.path()).size(), 2u);
}

TEST(ListFolder, OfNoFolderIsEmpty) {
  const TemporaryFolder folder;
  EXPECT_TRUE(list_folder(folder.path() / "none").empty());
}

TEST(ListFolder, ThatFailsIsAnErrorAndNotEmpty) {
  const TemporaryFolder folder;
  folder.write("file", "");
  std::filesystem::create_symlink("circle", folder.path() / "circle");
  EXPECT_THROW(list_folder(folder.path() / "file"), StorageError);
  EXPECT_THROW(list_folder(folder.path() / "circle"), StorageError);
}

}  // namespace
}  // namespace tessera
