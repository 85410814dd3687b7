// SPDX-License-Identifier: Apache-2.0
#include "data/byte_source.h"

#include <gtest/gtest.h>

#include <string>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "data/document_index.h"
#include "files/testing/packed.h"

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
  const ByteSource source({.path = folder.write("a.txt", bytes)});
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
  EXPECT_EQ(text_of(ByteSource({.path = folder.path()})), "AXZB");
}

TEST(ByteSource, OpensADocumentAtEveryFile) {
  const TemporaryFolder folder;
  folder.write("a", "xx");
  folder.write("b", "");
  folder.write("c", "y");
  folder.write("d", "zzz");
  const ByteSource source({.path = folder.path()});
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
  const ByteSource source({.path = folder.path()});
  EXPECT_EQ(text_of(source), "x\u00e9zzy");
  std::vector<int32_t> tokens(6);
  std::vector<uint8_t> opens(6, 9);
  source.read(0, tokens, opens);
  EXPECT_EQ(opens, (std::vector<uint8_t>{1, 0, 0, 1, 0, 1}));
  const auto chat = folder.write("chat.jsonl", "{\"messages\": []}\n");
  EXPECT_EQ(user_error_of([&] { ByteSource chats({.path = chat}); }),
            fmt::format("the line at byte 0 of {} has no text under \"text\": it is a conversation",
                        chat.string()));
}

TEST(ByteSource, ReadsPackedFilesLikeOthers) {
  const TemporaryFolder folder;
  const std::string novel(9'000'000, 'n');  // more than a block of held texts
  folder.write("a.txt.gz", gzip_of(novel));
  folder.write("b.jsonl.zst", zstd_of("{\"body\": \"x\"}\n{\"body\": \"yy\"}\n"));
  folder.write("c.txt", "z");
  const ByteSource source({.path = folder.path(), .field = "body"});
  EXPECT_TRUE(text_of(source) == novel + "xyyz");
  std::vector<int32_t> tokens(4);
  std::vector<uint8_t> opens(4, 9);
  source.read(9'000'000, tokens, opens);
  EXPECT_EQ(opens, (std::vector<uint8_t>{1, 1, 0, 1}));
}

TEST(ByteSource, RefusesWhatIsNoText) {
  const TemporaryFolder folder;
  const auto columns = folder.write("a.parquet", "PAR1\x15\x04");
  EXPECT_EQ(user_error_of([&] { ByteSource source({.path = folder.path()}); }),
            columns.string() + " is not text: it looks like parquet");
}

TEST(ByteSource, SaysThatAPathIsMissingOrHoldsNothing) {
  const TemporaryFolder folder;
  EXPECT_EQ(user_error_of([] { ByteSource source({.path = "/nonexistent"}); }),
            "no file or folder /nonexistent");
  EXPECT_EQ(user_error_of([&] { ByteSource source({.path = folder.path()}); }),
            folder.path().string() + " holds no text");
  const auto empty = folder.write("empty", "");
  EXPECT_EQ(user_error_of([&] { ByteSource source({.path = empty}); }),
            empty.string() + " holds no text");
}

TEST(ByteSource, ChoosesDocumentsAsTokensOfTextDo) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += fmt::format("{{\"text\": \"<{}>\"}}\n", i % 250);
  const auto path = folder.write("a.jsonl", lines);
  const ByteSource source(
      {.path = path, .deduplicate = true, .shuffle = true, .held_out = 0.2, .seed = 7});
  const DocumentIndex index = index_documents(
      {.paths = {path.string()}, .deduplicate = true, .shuffle = true, .held_out = 0.2, .seed = 7});
  std::string expected;
  size_t training = 0;
  for (const auto* documents : {&index.train, &index.held_out}) {
    for (const DocumentPlace& document : *documents) {
      const auto begin = static_cast<size_t>(document.begin);
      expected += lines.substr(begin + 10, lines.find('"', begin + 10) - begin - 10);
    }
    if (training == 0) training = expected.size();
  }
  EXPECT_EQ(text_of(source), expected);
  EXPECT_EQ(source.held_out_begin(), static_cast<int64_t>(training));
  EXPECT_LT(training, expected.size());
}

}  // namespace
}  // namespace tessera
