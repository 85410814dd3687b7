// SPDX-License-Identifier: Apache-2.0
#include "files/text_reader.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "files/testing/packed.h"

namespace tessera {
namespace {

using namespace std::string_literals;

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  TextReader reader(path);
  std::vector<std::string> lines;
  while (const auto line = reader.line()) {
    lines.emplace_back(*line);
    EXPECT_EQ(reader.line_number(), static_cast<int64_t>(lines.size()));
  }
  EXPECT_EQ(reader.file_position(), reader.file_bytes());
  return lines;
}

TEST(TextReader, GivesLinesOfPlainAndPackedFiles) {
  const TemporaryFolder folder;
  const std::vector<std::string> lines{"first", "", "third\r", "the end"};
  for (const std::string& text : {"first\n\nthird\r\nthe end"s, "first\n\nthird\r\nthe end\n"s})
    for (const std::string& bytes : {text, gzip_of(text), zstd_of(text)})
      EXPECT_EQ(lines_of(folder.write("a", bytes)), lines);
  EXPECT_TRUE(lines_of(folder.write("a", "")).empty());
}

TEST(TextReader, GivesLinesThatAreLongerThanItsBlocks) {
  const TemporaryFolder folder;
  std::vector<std::string> lines;
  std::string text;
  for (size_t i = 0; i < 40; ++i) {
    lines.emplace_back(i % 10 == 3 ? 3'000'000 + i : 7'000 * i, static_cast<char>('a' + i % 26));
    text += lines.back() + "\n";
  }
  EXPECT_TRUE(lines_of(folder.write("a", text)) == lines);
  EXPECT_TRUE(lines_of(folder.write("a.gz", gzip_of(text))) == lines);
}

TEST(TextReader, SaysWhereALineBeginsInTheText) {
  const TemporaryFolder folder;
  TextReader reader(folder.write("a.gz", gzip_of("first\nsecond\n")));
  reader.line();
  EXPECT_EQ(reader.line_begin(), 0);
  reader.line();
  EXPECT_EQ(reader.line_begin(), 6);
}

TEST(TextReader, ReadsTheWholeAndGoesOnByLine) {
  const TemporaryFolder folder;
  TextReader reader(folder.write("a.zst", zstd_of("first\nsecond\n")));
  std::string head(3, '\0');
  EXPECT_EQ(reader.read(head), 3u);
  EXPECT_EQ(head, "fir");
  EXPECT_EQ(reader.line(), "st");
  EXPECT_EQ(reader.line(), "second");
  EXPECT_EQ(reader.line(), std::nullopt);
  EXPECT_EQ(reader.read(head), 0u);
}

// Half a gigabyte of zeros takes half a megabyte packed.
TEST(TextReader, RefusesALineThatWouldFillTheMemory) {
  const TemporaryFolder folder;
  std::string packed;
  const std::string member = gzip_of(std::string(16 << 20, 'a'));
  for (int i = 0; i < 17; ++i) packed += member;
  const auto path = folder.write("a.jsonl.gz", "" + gzip_of("{}\n") + packed);
  TextReader reader(path);
  reader.line();
  EXPECT_EQ(user_error_of([&] { reader.line(); }),
            "line 2 of " + path.string() + " has more than 268435456 bytes");
}

TEST(TextReader, RefusesWhatIsNotTextWhenItIsUnpacked) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& name, const std::string& bytes) {
    const auto path = folder.write(name, bytes);
    return user_error_of([&] { TextReader reader(path); }).substr(path.string().size());
  };
  EXPECT_EQ(error("a.gz", gzip_of("PAR1\x15\x04")), " is not text: it looks like parquet");
  EXPECT_EQ(error("a.gz", gzip_of(gzip_of("text"))),
            " is not text: it looks like gzip, packed twice");
  EXPECT_EQ(error("a.tar.zst",
                  zstd_of("a.txt" + std::string(252, '\0') + "ustar\0"s + std::string(300, '\0'))),
            " is not text: it looks like a tar archive");
  EXPECT_EQ(error("a.gz", gzip_of("ab\0c"s)), " is not text: byte 2 is zero");
  EXPECT_EQ(error("a.parquet", "whatever"), " is not text: it looks like parquet");
}

}  // namespace
}  // namespace tessera
