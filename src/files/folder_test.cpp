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

TEST(FilesNamed, AreTheFileOrThoseBelowAFolderOrOfAGlob) {
  const TemporaryFolder folder;
  folder.write("b/2.txt", "");
  folder.write("b/deep/1.txt", "");
  folder.write("a.jsonl.gz", "");
  folder.write("[odd].txt", "");
  const auto named = [&](const std::string& name) {
    std::vector<std::string> names;
    for (const auto& file : files_named((folder.path() / name).string()))
      names.push_back(file.lexically_relative(folder.path()).string());
    return names;
  };
  EXPECT_EQ(named("a.jsonl.gz"), std::vector<std::string>{"a.jsonl.gz"});
  EXPECT_EQ(named("[odd].txt"), std::vector<std::string>{"[odd].txt"});
  EXPECT_EQ(named("b"), (std::vector<std::string>{"b/2.txt", "b/deep/1.txt"}));
  EXPECT_EQ(named("{a*.gz,b}"),
            (std::vector<std::string>{"a.jsonl.gz", "b/2.txt", "b/deep/1.txt"}));
  EXPECT_TRUE(named("*.parquet").empty());
}

}  // namespace
}  // namespace tessera
