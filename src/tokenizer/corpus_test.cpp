// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/corpus.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "files/testing/packed.h"
#include "tokenizer/encoder.h"
#include "tokenizer/testing/made_tokenizer.h"
#include "tokenizer/testing/mixed_text.h"
#include "tokenizer/text_pieces.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

// Documents, joined over parts.
std::vector<std::string> documents(const Corpus& corpus) {
  std::vector<std::string> all(1);
  for (const CorpusPart& part : corpus.parts())
    corpus.read(part, [&](std::string_view text, bool ends) {
      all.back() += text;
      if (ends) all.emplace_back();
    });
  all.pop_back();
  return all;
}

TEST(Corpus, ReadsFilesByNameAndJsonByLine) {
  const TemporaryFolder folder;
  folder.write("b.txt", "second");
  folder.write("a.txt", "first\n");
  folder.write("c.jsonl", "{\"text\": \"third\\nline\"}\n\n{\"id\": 7, \"text\": \"fourth\"}");
  folder.write(".hidden", "no");
  const Corpus corpus(std::vector<std::string>{folder.path().string()});
  EXPECT_EQ(documents(corpus),
            (std::vector<std::string>{"first\n", "second", "third\nline", "fourth"}));
}

TEST(Corpus, CutsLargeFilesAndLosesNothing) {
  const TemporaryFolder folder;
  const std::string text = mixed_text(50'000, 6, true);
  folder.write("a.txt", text);
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += fmt::format("{{\"text\": \"document {}\"}}\n", i);
  folder.write("b.jsonl", lines);
  const Corpus corpus(std::vector<std::string>{folder.path().string()}, {.part_bytes = 1000});
  EXPECT_GT(corpus.parts().size(), 10u);
  const std::vector<std::string> all = documents(corpus);
  ASSERT_EQ(all.size(), 501u);
  EXPECT_EQ(all[0], text);
  EXPECT_EQ(all[500], "document 499");
}

TEST(Corpus, ReadsPackedFilesAsTheyAreUnpacked) {
  const TemporaryFolder folder;
  const std::string text = mixed_text(50'000, 6, true);
  folder.write("a.txt.gz", gzip_of(text));
  folder.write("b.jsonl.zst", zstd_of("{\"body\": \"one\"}\n\n{\"body\": \"two\"}\n"));
  folder.write("c.txt.zst", zstd_of(""));
  const Corpus corpus(std::vector<std::string>{folder.path().string()},
                      {.part_bytes = 1000, .field = "body"});
  EXPECT_EQ(corpus.parts().size(), 3u);
  EXPECT_EQ(documents(corpus), (std::vector<std::string>{text, "one", "two", ""}));
  int pieces = 0;
  corpus.read(corpus.parts()[0], [&](std::string_view, bool) { ++pieces; });
  EXPECT_GT(pieces, 3);
}

// Of a text that is cut into parts of about this many bytes, and as a whole.
void expect_same_tokens(const std::string& text, int64_t part_bytes) {
  const TemporaryFolder folder;
  const std::vector<std::string> paths{folder.write("a.txt", text).string()};
  const std::vector<std::string> packed{folder.write("b.txt.zst", zstd_of(text)).string()};
  for (const char* rule : {"", kLlama3Rule, kQwenRule}) {
    const Tokenizer tokenizer =
        parse_tokenizer(made_tokenizer_json({.rule = rule, .composes = true}), "made");
    Encoder encoder(tokenizer);
    const Corpus corpus(paths, {.part_bytes = part_bytes});
    std::vector<int32_t> ids;
    for (const CorpusPart& part : corpus.parts())
      corpus.read(part, [&](std::string_view piece, bool) { encoder.encode(piece, ids); });
    EXPECT_EQ(ids, encoder.encode(text)) << rule;
    const Corpus pieces(packed, {.part_bytes = part_bytes});
    std::vector<int32_t> packed_ids;
    pieces.read(pieces.parts()[0],
                [&](std::string_view piece, bool) { encoder.encode(piece, packed_ids); });
    EXPECT_EQ(packed_ids, ids) << rule;
    EXPECT_GT(corpus.parts().size(), 10u);
  }
}

TEST(Corpus, CutsWhereNoTokenChanges) { expect_same_tokens(mixed_text(100'000, 7, true), 500); }

// GPT-2's rule cuts the last newline off before a word, but not where a text ends.
TEST(Corpus, CutsNoBlankLineFromTheWordAfterIt) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "The thing\n\nreturns it.\nA line\n \nthe end\r\n\r\n";
  expect_same_tokens(text, 10);
}

TEST(Corpus, NamesALineThatIsNoDocument) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.jsonl", "{\"text\": \"x\"}\n{\"title\": 1}\n").string();
  const Corpus corpus(std::vector<std::string>{path});
  EXPECT_EQ(user_error_of([&] { documents(corpus); }),
            "the line at byte 14 of " + path + " has no text under \"text\"");
}

TEST(TextPieces, KeepTokensWhereRulesAreKnownToCutThere) {
  for (const char* rule : {kGpt2Rule, kLlama3Rule, kQwenRule}) {
    TokenizerSpec spec{.added = {{.text = "<|end|>"}}, .steps = {{.pattern = rule}, {}}};
    EXPECT_TRUE(pieces_keep_tokens(spec)) << rule;
    spec.steps[1] = {.pattern = ",", .literal = true, .keeps_matches = false};
    EXPECT_FALSE(pieces_keep_tokens(spec)) << rule;
    EXPECT_FALSE(pieces_keep_tokens({.steps = {{.pattern = rule, .prefix_space = true}}}));
    EXPECT_FALSE(
        pieces_keep_tokens({.added = {{.text = "end\nBegin"}}, .steps = {{.pattern = rule}}}));
  }
  EXPECT_FALSE(pieces_keep_tokens({.steps = {{}}}));  // a token may hold both
  EXPECT_FALSE(pieces_keep_tokens({.steps = {{.pattern = R"(\S+\s*)"}}}));
}

}  // namespace
}  // namespace tessera
