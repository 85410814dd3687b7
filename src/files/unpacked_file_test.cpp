// SPDX-License-Identifier: Apache-2.0
#include "files/unpacked_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "files/testing/packed.h"

namespace tessera {
namespace {

using namespace std::string_literals;

// A few hundred thousand bytes that pack badly, so that many blocks are read.
std::string long_text() {
  std::string text;
  uint64_t state = 1;
  while (text.size() < 700'000) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += static_cast<char>('!' + state % 90 + (state >> 60) % 4);
    if ((state >> 50) % 60 == 0) text += '\n';
  }
  return text;
}

std::string unpacked(const std::filesystem::path& path, size_t at_a_time = 10'007) {
  const auto file = open_unpacked(path);
  std::string text(at_a_time, '\0'), all;
  while (const size_t count = file->read(std::as_writable_bytes(std::span(text))))
    all.append(text, 0, count);
  EXPECT_EQ(file->position(), file->file_bytes());
  return all;
}

class UnpackedFileTest : public testing::Test {
 protected:
  std::string error_of(const std::string& name, const std::string& bytes) const {
    const auto path = folder_.write(name, bytes);
    return user_error_of([&] { unpacked(path); }).substr(path.string().size());
  }
  TemporaryFolder folder_;
};

TEST_F(UnpackedFileTest, GivesTheBytesOfPlainAndPackedFiles) {
  const std::string text = long_text();
  for (const std::string& bytes : {text, gzip_of(text), zstd_of(text)})
    for (const size_t at_a_time : {size_t{1} << 22, size_t{10'007}, size_t{64}})
      EXPECT_TRUE(unpacked(folder_.write("a", bytes), at_a_time) == text) << at_a_time;
  EXPECT_EQ(unpacked(folder_.write("empty", "")), "");
  EXPECT_EQ(unpacked(folder_.write("e.gz", gzip_of(""))), "");
  EXPECT_EQ(unpacked(folder_.write("e.zst", zstd_of(""))), "");
}

TEST_F(UnpackedFileTest, JoinsMembersAndFrames) {
  EXPECT_EQ(unpacked(folder_.write("a", gzip_of("one ") + gzip_of("two"))), "one two");
  EXPECT_EQ(unpacked(folder_.write("a", zstd_of("one ") + zstd_of("two"))), "one two");
  EXPECT_EQ(unpacked(folder_.write("a", gzip_of("one") + std::string(300'000, '\0'))), "one");
  // As pzstd begins a file.
  EXPECT_EQ(unpacked(folder_.write("a", "\x50\x2a\x4d\x18\x04\0\0\0abcd"s + zstd_of("one"))),
            "one");
}

TEST_F(UnpackedFileTest, RefusesWhatIsCutShortAtAnyByte) {
  for (const std::string& whole : {gzip_of("some text"), zstd_of("some text")})
    for (size_t bytes = 5; bytes < whole.size(); ++bytes)
      EXPECT_NE(error_of("a", whole.substr(0, bytes)).find("it ends too early"), std::string::npos)
          << bytes;
}

// A changed byte of the text or of its checksum; those of a gzip header that nothing depends on
// (time, system) are left out.
TEST_F(UnpackedFileTest, RefusesADamagedByte) {
  for (const std::string& whole : {gzip_of(long_text()), zstd_of(long_text())})
    for (const size_t at : {whole.size() / 3, whole.size() / 2, whole.size() - 6}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
      EXPECT_TRUE(error_of("a", damaged).starts_with(" is damaged")) << at;
    }
}

TEST_F(UnpackedFileTest, RefusesWhatFollowsTheData) {
  EXPECT_EQ(error_of("a", gzip_of("text") + "more"),
            " is damaged gzip: other bytes follow its data at byte 24 of 28");
  EXPECT_EQ(error_of("a", gzip_of("text") + '\0' + gzip_of("text")),
            " is damaged gzip: other bytes follow its data at byte 25 of 49");
  EXPECT_TRUE(error_of("a", zstd_of("text") + "more").starts_with(" is damaged zstd"));
}

TEST_F(UnpackedFileTest, RefusesAWindowThatWouldTakeTooMuchMemory) {
  const std::string text(1'000, 'a');
  EXPECT_EQ(unpacked(folder_.write("a", zstd_of(text, 27))), text);
  EXPECT_EQ(error_of("a", zstd_of(text, 28)), " looks back over more than 134 MB of its text");
}

TEST(NameWhenUnpacked, LeavesOutWhatSaysHowItIsPacked) {
  EXPECT_EQ(name_when_unpacked("b/a.jsonl.gz"), "a.jsonl");
  EXPECT_EQ(name_when_unpacked("b/a.txt.zst"), "a.txt");
  EXPECT_EQ(name_when_unpacked("b/a.txt"), "a.txt");
}

}  // namespace
}  // namespace tessera
