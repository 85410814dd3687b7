// SPDX-License-Identifier: Apache-2.0
#include "files/text_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"

namespace tessera {
namespace {

using namespace std::string_literals;

std::string report_of(const std::string& bytes) {
  try {
    require_text(std::as_bytes(std::span(bytes)), "x");
  } catch (const UserError& error) {
    return error.report();
  }
  return "text";
}

TEST(RequireText, NamesWhatAFileLooksLikeAndWhatToDo) {
  EXPECT_EQ(report_of("\x1f\x8b\x08\x00\x01"s),
            "error: x is not text: it looks like gzip, packed twice\n help: unpack it first: "
            "gunzip -k x\n");
  const std::vector<std::pair<std::string, std::string>> formats{
      {"\x28\xb5\x2f\xfd\x01"s, "zstd, packed twice"},
      {"\xfd"
       "7zXZ\0"s,
       "xz"},
      {"BZh91AY&SY"s, "bzip2"},
      {"PK\x03\x04\x14"s, "a zip archive"},
      {"PAR1\x15\x04"s, "parquet"},
      {"\x80\x04\x95"s, "a pickle"},
      {"\x10\x00\x00\x00\x00\x00\x00\x00{\"a\""s, "safetensors"},
      {"\xff\xfeh\0"s, "UTF-16"}};
  for (const auto& [bytes, name] : formats)
    EXPECT_TRUE(report_of(bytes).starts_with("error: x is not text: it looks like " + name + "\n"))
        << report_of(bytes);
}

TEST(RequireText, RefusesAZeroByte) {
  EXPECT_EQ(report_of("ab\0c"s),
            "error: x is not text: byte 2 is zero\n help: give files of text: *.txt, *.md or "
            "*.jsonl; token shards end in .bin\n");
}

TEST(RequireText, TakesAnyOtherBytes) {
  EXPECT_EQ(report_of(""), "text");
  EXPECT_EQ(report_of("PAR1, a story of gzip and PK\n"), "text");
  EXPECT_EQ(report_of("caf\xe9 in Latin-1, and caf\u00e9 in UTF-8"), "text");
}

TEST(IsJsonl, GoesByTheNameWithoutWhatSaysHowItIsPacked) {
  for (const char* lines : {"a.jsonl", "b/a.jsonl.gz", "a.jsonl.zst", "a.ndjson", "c4.json.gz"})
    EXPECT_TRUE(is_jsonl(lines)) << lines;
  for (const char* text : {"a.txt", "a.txt.gz", "a.json", "jsonl", "a.jsonl.txt"})
    EXPECT_FALSE(is_jsonl(text)) << text;
}

TEST(ReadJsonl, TakesTheFieldThatIsAskedFor) {
  std::vector<std::string> documents;
  read_jsonl("{\"text\": \"a\", \"body\": \"b\"}\n \n{\"body\": \"c\"}", {"x.jsonl", "body"}, 0,
             [&](const std::string& document) { documents.push_back(document); });
  EXPECT_EQ(documents, (std::vector<std::string>{"b", "c"}));
}

}  // namespace
}  // namespace tessera
