// SPDX-License-Identifier: Apache-2.0
#include "data/byte_source.h"

#include <gtest/gtest.h>

#include <string>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

std::string text_of(const TokenSource& source) {
  std::vector<int32_t> tokens(static_cast<size_t>(source.num_tokens()));
  source.read(0, tokens, {});
  return {tokens.begin(), tokens.end()};
}

TEST(ByteSource, ReadsAFileAsItsBytes) {
  const TemporaryFolder folder;
  const std::string bytes = "a\tb\xff\n";
  const ByteSource source(folder.write("a.txt", bytes));
  EXPECT_EQ(text_of(source), bytes);
  EXPECT_EQ(source.vocabulary_size(), 256);
  std::vector<int32_t> tokens(2);
  source.read(3, tokens, {});
  EXPECT_EQ(tokens, (std::vector<int32_t>{255, 10}));
}

TEST(ByteSource, ReadsAFolderSortedByPathWithoutHiddenOnes) {
  const TemporaryFolder folder;
  folder.write("b.txt", "B");
  folder.write("a/z.txt", "Z");
  folder.write("a/y/x.txt", "X");
  folder.write("a.txt", "A");
  folder.write("empty.txt", "");
  folder.write(".hidden", "H");
  folder.write(".git/config", "G");
  EXPECT_EQ(text_of(ByteSource(folder.path())), "AXZB");
}

TEST(ByteSource, OpensADocumentAtEveryFile) {
  const TemporaryFolder folder;
  folder.write("a", "xx");
  folder.write("b", "");
  folder.write("c", "y");
  folder.write("d", "zzz");
  const ByteSource source(folder.path());
  std::vector<int32_t> tokens(6);
  std::vector<uint8_t> opens(6, 9);
  source.read(0, tokens, opens);
  EXPECT_EQ(opens, (std::vector<uint8_t>{1, 0, 1, 1, 0, 0}));
  for (int64_t begin = 0; begin < 6; ++begin) {
    source.read(begin, std::span(tokens).first(1), std::span(opens).first(1));
    EXPECT_EQ(opens[0], begin == 0 || begin == 2 || begin == 3) << begin;
  }
}

TEST(ByteSource, ReadsTheTextsOfAJsonlFileAndOpensADocumentAtEach) {
  const TemporaryFolder folder;
  folder.write("a.jsonl", "{\"text\": \"x\\u00e9\"}\n\n{\"text\": \"\"}\n{\"text\": \"zz\"}");
  folder.write("b.txt", "y");
  const ByteSource source(folder.path());
  EXPECT_EQ(text_of(source), "x\u00e9zzy");
  std::vector<int32_t> tokens(6);
  std::vector<uint8_t> opens(6, 9);
  source.read(0, tokens, opens);
  EXPECT_EQ(opens, (std::vector<uint8_t>{1, 0, 0, 1, 0, 1}));
  const auto chat = folder.write("chat.jsonl", "{\"messages\": []}\n");
  EXPECT_EQ(user_error_of([&] { ByteSource chats(chat); }),
            fmt::format("the line at byte 0 of {} has no text under \"text\"", chat.string()));
}

TEST(ByteSource, RefusesWhatIsNoText) {
  const TemporaryFolder folder;
  const auto packed = folder.write("a.jsonl.gz", "\x1f\x8b\x08");
  EXPECT_EQ(user_error_of([&] { ByteSource source(folder.path()); }),
            packed.string() + " is not text: it looks like gzip");
}

TEST(ByteSource, SaysThatAPathIsMissingOrHoldsNothing) {
  const TemporaryFolder folder;
  EXPECT_EQ(user_error_of([] { ByteSource source("/nonexistent"); }),
            "no file or folder /nonexistent");
  EXPECT_EQ(user_error_of([&] { ByteSource source(folder.path()); }),
            folder.path().string() + " holds no text");
  const auto empty = folder.write("empty", "");
  EXPECT_EQ(user_error_of([&] { ByteSource source(empty); }), empty.string() + " holds no text");
}

}  // namespace
}  // namespace tessera
