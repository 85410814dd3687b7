// SPDX-License-Identifier: Apache-2.0
#include "data/tokenize_corpus.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "data/bin_source.h"
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
    options.paths = {(folder_.path() / "text").string()};
    options.tokenizer = folder_.path() / "tokenizer.json";
    options.out = folder_.path() / out;
    options.shard_bytes = 40'000;
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
  wrong.document_end = "<eos>";
  EXPECT_EQ(user_error_of([&] { tokenize_corpus(wrong); }),
            "the tokenizer has no added token <eos>");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a"));
}

}  // namespace
}  // namespace tessera
