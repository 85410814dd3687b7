// SPDX-License-Identifier: Apache-2.0
#include "data/tokens_ahead.h"

#include <gtest/gtest.h>

#include <chrono>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "data/tokenize_corpus.h"
#include "files/file_lock.h"
#include "files/testing/packed.h"
#include "tokenizer/testing/made_tokenizer.h"
#include "tokenizer/testing/mixed_text.h"

namespace tessera {
namespace {

constexpr const char* kEndToken = R"([{"id":900,"content":"<|endoftext|>","special":true}])";

class TokensAheadTest : public testing::Test {
 protected:
  TokensAheadTest() {
    folder_.write("tokenizer.json", made_tokenizer_json({.rule = kLlama3Rule, .added = kEndToken}));
    for (uint64_t i = 0; i < 60; ++i)
      folder_.write(fmt::format("text/{:02}.txt", i), mixed_text(2'000 + 100 * i, i, true));
    std::string lines;
    for (int i = 0; i < 200; ++i)
      lines += fmt::format("{{\"text\": \"the thing of line {}\"}}\n", i % 150);
    folder_.write("text/lines.jsonl.gz", gzip_of(lines));
  }
  TokenFolderOptions options() const {
    TokenFolderOptions options;
    options.documents = {.paths = {(folder_.path() / "text").string()},
                         .deduplicate = true,
                         .shuffle = true,
                         .held_out = 0.2,
                         .seed = 5};
    options.tokenizer = folder_.path() / "tokenizer.json";
    options.shard_bytes = 20'000;
    return options;
  }
  std::shared_ptr<const TokenFolder> open(const std::string& name) const {
    return std::make_shared<const TokenFolder>(folder_.path() / name, options());
  }
  std::vector<int32_t> read_all(const TokenSource& source) const {
    std::vector<int32_t> tokens(static_cast<size_t>(source.num_tokens()));
    source.read(0, tokens, {});
    return tokens;
  }
  std::vector<int32_t> tokenized(const std::string& pattern) const {
    return read_all(BinSource(
        {.pattern = (folder_.path() / pattern).string(), .vocabulary = 901, .document_end = {}}));
  }
  int64_t shards_in(const std::string& name) const {
    int64_t shards = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / name))
      shards += entry.path().extension() == ".bin";
    return shards;
  }
  TemporaryFolder folder_;
};

TEST_F(TokensAheadTest, GivesTheTokensOfTokenizingFirst) {
  const TokenizeResult first =
      tokenize_corpus({.tokens = options(), .out = folder_.path() / "first", .threads = 3});
  EXPECT_EQ(first.duplicates, 50);
  EXPECT_GT(first.shards, 5);
  const auto folder = open("ahead");
  const TokensAhead train(folder, {.split = Split::Train, .ahead = 1000});
  const TokensAhead held_out(folder, {.split = Split::HeldOut, .ahead = 1000});
  EXPECT_EQ(read_all(held_out), tokenized("first/held_out/*.bin"));
  EXPECT_EQ(read_all(train), tokenized("first/*.bin"));
  EXPECT_EQ(train.num_tokens(), first.tokens);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "ahead/unpacked"));
  EXPECT_EQ(read_text(folder_.path() / "ahead/tokens.json"),
            read_text(folder_.path() / "first/tokens.json"));
}

TEST_F(TokensAheadTest, StaysAheadOfWhatWasReadAndNoFurther) {
  const auto folder = open("ahead");
  const TokensAhead tokens(folder, {.ahead = 1000});
  EXPECT_EQ(tokens.made(), 0);
  EXPECT_EQ(tokens.tokens_up_to(100), 100);
  const int64_t all = tokenize_corpus({.tokens = options(), .out = folder_.path() / "b"}).tokens;
  while (tokens.made() < 1100) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for what should not be made
  const int64_t early = tokens.made();
  EXPECT_LT(early, all / 2);
  EXPECT_EQ(tokens.tokens_up_to(early + 10'000), early + 10'000);
  EXPECT_EQ(tokens.tokens_up_to(all + 5), all);
}

TEST_F(TokensAheadTest, GoesOnWhereAnotherRunHasStopped) {
  const std::vector<int32_t> all = read_all(TokensAhead(open("whole"), {}));
  {
    const TokensAhead tokens(open("ahead"), {.ahead = 1});
    tokens.tokens_up_to(10);
  }
  const int64_t shards = shards_in("ahead");
  EXPECT_GE(shards, 1);
  EXPECT_LT(shards, shards_in("whole"));
  const auto kept = std::filesystem::last_write_time(folder_.path() / "ahead/tokens_000000.bin");
  const TokensAhead tokens(open("ahead"), {});
  EXPECT_GT(tokens.made(), 0);
  EXPECT_EQ(read_all(tokens), all);
  EXPECT_EQ(std::filesystem::last_write_time(folder_.path() / "ahead/tokens_000000.bin"), kept);
}

TEST_F(TokensAheadTest, ReadsWhatAnotherWritesAndContinuesWhenThatEnds) {
  const auto folder = open("ahead");
  auto writer = std::make_unique<TokensAhead>(folder, TokensAheadOptions{.ahead = 1});
  writer->tokens_up_to(10);
  const int64_t made = writer->made();
  const TokensAhead reader(folder, {.ahead = 1});
  // The writer is far enough ahead of its own reader: it is asked for more.
  EXPECT_EQ(reader.tokens_up_to(made + 1000), made + 1000);
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    writer.reset();
  });
  EXPECT_EQ(read_all(reader), read_all(TokensAhead(open("whole"), {})));
  end.join();
}

TEST_F(TokensAheadTest, WritesADamagedShardAgain) {
  const std::vector<int32_t> all = read_all(TokensAhead(open("ahead"), {}));
  std::filesystem::remove(folder_.path() / "ahead/complete.json");
  std::filesystem::resize_file(folder_.path() / "ahead/tokens_000002.bin", 2000);
  EXPECT_EQ(read_all(TokensAhead(open("ahead"), {})), all);
}

TEST_F(TokensAheadTest, WritesAShardAgainThatHasGone) {
  read_all(TokensAhead(open("ahead"), {.split = Split::HeldOut}));
  const std::vector<int32_t> all = read_all(TokensAhead(open("ahead"), {}));
  const auto ahead = folder_.path() / "ahead";
  for (const bool complete : {true, false})
    for (const char* gone : {"tokens_000000.bin", "tokens_000002.bin"}) {
      std::filesystem::remove(ahead / gone);
      if (!complete) std::filesystem::remove(ahead / "complete.json");
      EXPECT_EQ(read_all(TokensAhead(open("ahead"), {})), all) << gone;
      EXPECT_FALSE(std::filesystem::exists(ahead / "unpacked"));
    }
  std::filesystem::resize_file(ahead / "tokens_000001.bin", 2000);
  EXPECT_EQ(read_all(TokensAhead(open("ahead"), {})), all);
}

TEST_F(TokensAheadTest, ReadsAcrossShardsWhoseDocumentsAreEmpty) {
  std::string lines = "{\"text\": \"the first\"}\n";
  for (int i = 0; i < 10'000; ++i) lines += "{\"text\": \"\"}\n";
  auto plain = options();
  plain.documents = {.paths = {folder_.write("empty.jsonl", lines + "{\"text\": \"last\"}\n")}};
  const auto folder = std::make_shared<const TokenFolder>(folder_.path() / "ahead", plain);
  const TokensAhead writer(folder, {.ahead = 1});
  const int64_t first = writer.tokens_up_to(1);
  const TokensAhead reader(folder, {.ahead = 1});
  const std::vector<int32_t> all = read_all(reader);
  EXPECT_GT(std::ssize(all), first + 3);
  EXPECT_EQ(read_all(TokensAhead(folder, {})), all);
  EXPECT_EQ(shards_in("ahead"), 2);
}

TEST_F(TokensAheadTest, RethrowsAnErrorOfItsThread) {
  auto lines = options();
  lines.documents.held_out = 0;
  lines.documents.deduplicate = false;
  const auto path = folder_.write("text/z.jsonl", "{\"title\": \"no text\"}\n");
  const auto folder = std::make_shared<const TokenFolder>(folder_.path() / "ahead", lines);
  const TokensAhead tokens(folder, {});
  const std::string error = user_error_of([&] { tokens.num_tokens(); });
  EXPECT_EQ(error, "the line at byte 0 of " + path.string() + " has no text under \"text\"");
  EXPECT_EQ(user_error_of([&] { tokens.num_tokens(); }), error);
}

TEST_F(TokensAheadTest, MakesAllAtOnceWithProgress) {
  TokensAhead tokens(open("ahead"), {});
  int64_t last = 0, total = 0;
  tokens.make_all([&](int64_t done, int64_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
  });
  EXPECT_EQ(last, total);
  EXPECT_GT(total, 100'000);
  EXPECT_EQ(read_all(tokens), read_all(TokensAhead(open("other"), {})));
}

TEST_F(TokensAheadTest, EndsWhileNobodyReads) {
  for (int i = 0; i < 10; ++i) {
    const TokensAhead tokens(open("ahead"), {.ahead = 1});
    if (i % 2 == 0) tokens.tokens_up_to(1 + 3000 * i);
  }
}

}  // namespace
}  // namespace tessera
