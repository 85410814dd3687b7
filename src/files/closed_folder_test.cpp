// SPDX-License-Identifier: Apache-2.0
#include "files/closed_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "system/random_name.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class ClosedFolderTest : public testing::Test {
 protected:
  ClosedFolderTest() : top_(fs::path(testing::TempDir()) / random_name()) {
    fs::create_directories(top_ / "inside/deeper");
    std::ofstream(top_ / "secret") << "secret";
    std::ofstream(top_ / "inside/file") << "0123456789";
    std::ofstream(top_ / "inside/deeper/file") << "deep";
    fs::create_symlink("../secret", top_ / "inside/link");
    fs::create_symlink("file", top_ / "inside/near_link");
    fs::create_symlink("..", top_ / "inside/up");
  }
  ~ClosedFolderTest() override { fs::remove_all(top_); }

  fs::path top_;
};

TEST_F(ClosedFolderTest, ReadsAPartOfAFile) {
  const ClosedFolder folder(top_ / "inside");
  EXPECT_EQ(folder.read("file", 0, 100), "0123456789");
  EXPECT_EQ(folder.read("file", 3, 4), "3456");
  EXPECT_EQ(folder.read("file", 20, 4), "");
  EXPECT_EQ(folder.read("deeper/file", 0, 100), "deep");
  EXPECT_EQ(folder.state_of("file")->bytes, 10);
  EXPECT_GT(folder.state_of("file")->modified_at, 1.7e9);
}

TEST_F(ClosedFolderTest, IsNotLeftByAnyName) {
  const ClosedFolder folder(top_ / "inside");
  for (const std::string name :
       {"../secret", "link", "near_link", "up/secret", "deeper/../../secret", "/etc/passwd",
        "/proc/self/fd/0", "", ".", "deeper", "missing"})
    EXPECT_EQ(folder.read(name, 0, 100), std::nullopt) << name;
}

TEST_F(ClosedFolderTest, ListsNamesAndOpensFoldersButNoLinks) {
  const ClosedFolder folder(top_ / "inside");
  std::vector<std::string> names = folder.names(100);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"deeper", "file", "link", "near_link", "up"}));
  EXPECT_EQ(folder.names(2).size(), 2u);
  EXPECT_EQ(folder.folder("deeper")->read("file", 0, 100), "deep");
  EXPECT_FALSE(folder.folder("deeper")->read("../file", 0, 100));
  for (const std::string name : {"up", "..", "file", "missing", "/"})
    EXPECT_FALSE(folder.folder(name)) << name;
}

TEST_F(ClosedFolderTest, DoesNotWaitForAPipe) {
  ASSERT_EQ(mkfifo((top_ / "inside/pipe").c_str(), 0600), 0);
  EXPECT_EQ(ClosedFolder(top_ / "inside").read("pipe", 0, 100), std::nullopt);
}

TEST_F(ClosedFolderTest, RefusesWhatIsNoFolder) {
  EXPECT_THROW(ClosedFolder(top_ / "secret"), UserError);
  EXPECT_THROW(ClosedFolder(top_ / "nothing"), UserError);
}

}  // namespace
}  // namespace tessera
