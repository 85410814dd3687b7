// SPDX-License-Identifier: Apache-2.0
#include "data/tokenize_corpus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "data/bin_source.h"
#include "files/file_lock.h"
#include "files/testing/packed.h"
#include "tokenizer/encoder.h"
#include "tokenizer/testing/made_tokenizer.h"
#include "tokenizer/testing/mixed_text.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

constexpr const char* kEnd = R"([{"id":900,"content":"<|endoftext|>","special":true}])";

class TokenizeCorpusTest : public testing::Test {
 protected:
  TokenizeCorpusTest() {
    folder_.write("tokenizer.json", made_tokenizer_json({.rule = kLlama3Rule, .added = kEnd}));
    for (uint64_t i = 0; i < 4; ++i)
      folder_.write(fmt::format("text/{}.txt", i), mixed_text(30'000 + 1000 * i, i, true));
  }
  TokenizeOptions options(const std::string& out) const {
    TokenizeOptions options;
    options.tokens.documents.paths = {(folder_.path() / "text").string()};
    options.tokens.tokenizer = folder_.path() / "tokenizer.json";
    options.tokens.shard_bytes = 40'000;
    options.out = folder_.path() / out;
    return options;
  }
  std::vector<int32_t> tokens_in(const std::string& out) const {
    const BinSource source({.pattern = (folder_.path() / out / "*.bin").string(),
                            .vocabulary = 901,
                            .document_end = {}});
    std::vector<int32_t> tokens(static_cast<size_t>(source.num_tokens()));
    source.read(0, tokens, {});
    return tokens;
  }
  TemporaryFolder folder_;
};

TEST_F(TokenizeCorpusTest, WritesEveryDocumentAndItsEnd) {
  const TokenizeResult result = tokenize_corpus(options("a"));
  const Tokenizer tokenizer = read_tokenizer(folder_.path());
  std::vector<int32_t> expected;
  for (int i = 0; i < 4; ++i) {
    Encoder(tokenizer).encode(read_text(folder_.path() / fmt::format("text/{}.txt", i)), expected);
    expected.push_back(900);
  }
  EXPECT_EQ(tokens_in("a"), expected);
  EXPECT_EQ(result.tokens, static_cast<int64_t>(expected.size()));
  EXPECT_EQ(result.shards, 2);
  EXPECT_EQ(result.kept_shards, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "a/tokenizer.json"));
}

TEST_F(TokenizeCorpusTest, GoesOnWhereItWasStopped) {
  tokenize_corpus(options("a"));
  const std::vector<int32_t> whole = tokens_in("a");
  // The first shard was never written, the second is damaged.
  std::filesystem::remove(folder_.path() / "a/tokens_000000.bin");
  std::filesystem::resize_file(folder_.path() / "a/tokens_000001.bin", 5000);
  EXPECT_EQ(tokenize_corpus(options("a")).kept_shards, 0);
  EXPECT_EQ(tokens_in("a"), whole);
  std::filesystem::remove(folder_.path() / "a/tokens_000000.bin");
  EXPECT_EQ(tokenize_corpus(options("a")).kept_shards, 1);
  EXPECT_EQ(tokens_in("a"), whole);
}

TEST_F(TokenizeCorpusTest, NeverMixesShardsOfDifferentTexts) {
  tokenize_corpus(options("a"));
  folder_.write("text/5.txt", "more");
  EXPECT_NE(user_error_of([&] { tokenize_corpus(options("a")); }).find("other texts"),
            std::string::npos);
}

TEST_F(TokenizeCorpusTest, NamesAnEndThatIsNoToken) {
  TokenizeOptions wrong = options("a");
  wrong.tokens.document_end = "<eos>";
  EXPECT_EQ(user_error_of([&] { tokenize_corpus(wrong); }),
            "the tokenizer has no added token <eos>");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a"));
}

TEST_F(TokenizeCorpusTest, WritesTheSameShardsForAnyNumberOfThreads) {
  TokenizeOptions all = options("a");
  all.tokens.documents.shuffle = true;
  all.tokens.documents.held_out = 0.5;
  all.threads = 1;
  tokenize_corpus(all);
  all.out = folder_.path() / "b";
  all.threads = 4;
  tokenize_corpus(all);
  for (const char* name : {"tokens_000000.bin", "held_out/tokens_000000.bin", "complete.json"})
    EXPECT_TRUE(read_text(folder_.path() / "a" / name) == read_text(folder_.path() / "b" / name))
        << name;
}

TEST_F(TokenizeCorpusTest, ShufflesDocumentsAndKeepsEachWhole) {
  TokenizeOptions shuffled = options("a");
  shuffled.tokens.documents.shuffle = true;
  tokenize_corpus(shuffled);
  tokenize_corpus(options("b"));
  const auto documents = [&](const std::string& out) {
    std::vector<std::vector<int32_t>> all(1);
    for (const int32_t token : tokens_in(out)) {
      all.back().push_back(token);
      if (token == 900) all.emplace_back();
    }
    return all;
  };
  auto a = documents("a"), b = documents("b");
  EXPECT_NE(a, b);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  EXPECT_EQ(a, b);
}

TEST_F(TokenizeCorpusTest, WritesTheTokensOfPackedFiles) {
  tokenize_corpus(options("a"));
  for (int i = 0; i < 4; ++i)
    folder_.write(fmt::format("packed/{}.txt.{}", i, i % 2 ? "gz" : "zst"),
                  i % 2 ? gzip_of(read_text(folder_.path() / fmt::format("text/{}.txt", i)))
                        : zstd_of(read_text(folder_.path() / fmt::format("text/{}.txt", i))));
  TokenizeOptions packed = options("b");
  packed.tokens.documents.paths = {(folder_.path() / "packed").string()};
  tokenize_corpus(packed);
  EXPECT_EQ(tokens_in("b"), tokens_in("a"));
  packed.tokens.documents.shuffle = true;
  packed.out = folder_.path() / "c";
  tokenize_corpus(packed);
  EXPECT_EQ(tokens_in("c").size(), tokens_in("a").size());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "c/unpacked"));
}

TEST_F(TokenizeCorpusTest, RefusesASplitWithNothingOnOneSide) {
  TokenizeOptions split = options("a");
  split.tokens.documents.held_out = 0.0001;
  EXPECT_EQ(user_error_of([&] { tokenize_corpus(split); }),
            "of the 4 documents 0 would be held out, by their digests");
}

// Threads that have tokens ready when another one fails.
TEST_F(TokenizeCorpusTest, WritesNoShardAgainAfterAFailure) {
  std::string lines;
  for (int i = 0; lines.size() < 3'500'000; ++i)
    lines += fmt::format("{{\"text\": \"the thing of line {}\"}}\n", i);
  auto large = options("a").tokens;
  large.documents.paths = {folder_.write("large.jsonl", lines)};
  large.shard_bytes = 1'500'000;  // a shard of two units
  const TokenFolder good(folder_.path() / "good", large), failed(folder_.path() / "failed", large);
  TokenFolder::Writing writing{.threads = 4};
  ASSERT_TRUE(good.write(Split::Train, writing));
  writing.on_shard = [](int64_t) { throw user_error("no space left"); };
  EXPECT_THROW(failed.write(Split::Train, writing), UserError);
  EXPECT_EQ(read_text(failed.path() / "tokens_000000.bin"),
            read_text(good.path() / "tokens_000000.bin"));
}

TEST_F(TokenizeCorpusTest, LeavesAFolderToTheProcessThatWritesThere) {
  const auto folder = folder_.path() / "a";
  std::filesystem::create_directories(folder);
  FileLock other(folder / "write.lock");
  other.lock();
  EXPECT_EQ(user_error_of([&] { tokenize_corpus(options("a")); }),
            "another process writes tokens to " + folder.string());
}

TEST_F(TokenizeCorpusTest, RefusesDocumentsThatAreAllEmpty) {
  TokenizeOptions empty = options("a");
  empty.tokens.documents.paths = {folder_.write("empty.jsonl", "{\"text\": \"\"}\n\n")};
  EXPECT_EQ(user_error_of([&] { tokenize_corpus(empty); }),
            empty.tokens.documents.paths.front() + " holds no text");
}

}  // namespace
}  // namespace tessera
