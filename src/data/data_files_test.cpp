// SPDX-License-Identifier: Apache-2.0
#include "data/data_files.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

class DataFilesTest : public testing::Test {
 protected:
  DataFilesTest() {
    write("a.txt", "once");
    write("b.txt", std::string(1 << 20, 'b'));
  }
  void write(const std::string& name, const std::string& text) const {
    folder_.write("texts/" + name, text);
  }
  std::vector<DataFile> files() const {
    DataConfig data;
    data.source = DataSource::Text;
    data.path = (folder_.path() / "texts").string();
    return data_files_of(data);
  }
  // Without the folder's name.
  std::string change_since(const std::vector<DataFile>& before) const {
    const std::string change = change_of_data(before, files());
    return change.substr(std::min(change.size(), (folder_.path() / "texts/").string().size()));
  }
  TemporaryFolder folder_;
};

TEST_F(DataFilesTest, AreTheSameUntilOneChanges) {
  const std::vector<DataFile> before = files();
  write_data_files(folder_.path(), before);
  EXPECT_EQ(find_data_files(folder_.path()), before);
  write("a.txt", "once");  // of another time
  EXPECT_EQ(change_since(before), "");
  write("a.txt", "when");
  EXPECT_EQ(change_since(before), "a.txt has other content");
  write("a.txt", "once upon");
  EXPECT_EQ(change_since(before), "a.txt had 4 bytes and has 9");
}

TEST_F(DataFilesTest, OneThatComesOrGoesIsAChange) {
  const std::vector<DataFile> before = files();
  write("c.txt", "c");
  EXPECT_EQ(change_since(before), "c.txt is new");
  std::filesystem::remove(folder_.path() / "texts/c.txt");
  std::filesystem::remove(folder_.path() / "texts/a.txt");
  EXPECT_EQ(change_since(before), "a.txt is gone");
}

TEST_F(DataFilesTest, TheEndsOfALargeFileAreLookedAt) {
  const std::vector<DataFile> before = files();
  for (const size_t place : {size_t{0}, (size_t{1} << 20) - 1}) {
    std::string text(1 << 20, 'b');
    text[place] = 'c';
    write("b.txt", text);
    EXPECT_EQ(change_since(before), "b.txt has other content") << place;
  }
}

TEST_F(DataFilesTest, BuiltInDataHaveNone) { EXPECT_TRUE(data_files_of(DataConfig{}).empty()); }

}  // namespace
}  // namespace tessera
