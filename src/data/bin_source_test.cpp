// SPDX-License-Identifier: Apache-2.0
#include "data/bin_source.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

// A shard in llm.c's format; T is the type of a token.
template <typename T>
std::string shard(int32_t magic, int32_t version, const std::vector<T>& tokens) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<int32_t>(tokens.size());
  return std::string(reinterpret_cast<const char*>(header.data()), 1024) +
         std::string(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(T));
}
std::string gpt2_shard(const std::vector<uint16_t>& tokens) { return shard(20240520, 1, tokens); }

std::vector<int32_t> tokens_of(const TokenSource& source) {
  std::vector<int32_t> tokens(static_cast<size_t>(source.num_tokens()));
  source.read(0, tokens, {});
  return tokens;
}

class BinSourceTest : public testing::Test {
 protected:
  BinSource open(const std::string& pattern, int64_t vocabulary = 50257) const {
    return BinSource({.pattern = (folder_.path() / pattern).string(),
                      .vocabulary = vocabulary,
                      .document_end = {}});
  }
  // The message without the folder's name.
  std::string error_of(const std::string& pattern) const {
    const std::string message = user_error_of([&] { open(pattern); });
    const size_t at = message.find(folder_.path().string() + "/");
    return at == std::string::npos
               ? message
               : message.substr(0, at) + message.substr(at + folder_.path().string().size() + 1);
  }
  TemporaryFolder folder_;
};

TEST_F(BinSourceTest, ReadsSixteenAndThirtyTwoBitTokens) {
  folder_.write("a.bin", gpt2_shard({1, 50256, 3}));
  folder_.write("b.bin", shard<uint32_t>(20240520, 2, {1, 100'000, 3}));
  folder_.write("c.bin", shard<uint32_t>(20240801, 7, {128'255}));
  EXPECT_EQ(tokens_of(open("a.bin")), (std::vector<int32_t>{1, 50256, 3}));
  EXPECT_EQ(tokens_of(open("b.bin", 128'256)), (std::vector<int32_t>{1, 100'000, 3}));
  EXPECT_EQ(tokens_of(open("c.bin", 128'256)), (std::vector<int32_t>{128'255}));
}

// Blocks that nobody reads are not looked at.
TEST_F(BinSourceTest, FindsAFlippedBitWhereItIsRead) {
  std::vector<int32_t> tokens(100'000);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i % 50'000);
  const auto path = folder_.path() / "a.bin";
  write_token_shard(path, tokens, 50257);
  EXPECT_EQ(tokens_of(open("a.bin")), tokens);
  std::string bytes = read_text(path);
  bytes[1024 + 2 * 70'000] ^= 1;
  folder_.write("a.bin", bytes);
  const BinSource source = open("a.bin");
  std::vector<int32_t> window(1000);
  source.read(0, window, {});
  EXPECT_EQ(window, std::vector<int32_t>(tokens.begin(), tokens.begin() + 1000));
  EXPECT_EQ(user_error_of([&] { source.read(69'500, window, {}); }),
            path.string() +
                " is damaged: of its tokens, bytes 131072 to 196607 are not what was written");
}

// llm.c's own readers look at three words of the header.
TEST_F(BinSourceTest, ASumThatIsDamagedIsFoundToo) {
  const auto path = folder_.path() / "a.bin";
  write_token_shard(path, std::vector<int32_t>{1, 2, 3}, 50257);
  std::string bytes = read_text(path);
  bytes[4 * 5] ^= 1;
  folder_.write("a.bin", bytes);
  EXPECT_NE(user_error_of([&] { tokens_of(open("a.bin")); }).find("is damaged"), std::string::npos);
}

TEST_F(BinSourceTest, ReadsSeveralShardsInSortedOrderAsOneSequence) {
  folder_.write("t_1.bin", gpt2_shard({4, 5}));
  folder_.write("t_0.bin", gpt2_shard({1, 2, 3}));
  folder_.write("t_2.bin", gpt2_shard({6}));
  const BinSource source = open("t_*.bin");
  EXPECT_EQ(tokens_of(source), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  std::vector<int32_t> tokens(3);
  source.read(3, tokens, {});
  EXPECT_EQ(tokens, (std::vector<int32_t>{4, 5, 6}));
}

TEST_F(BinSourceTest, OpensADocumentBehindEveryEndTokenAlsoAcrossShards) {
  folder_.write("t_0.bin", gpt2_shard({1, 7}));
  folder_.write("t_1.bin", gpt2_shard({5, 6, 7, 3}));
  const BinSource source(
      {.pattern = (folder_.path() / "t_*.bin").string(), .vocabulary = 8, .document_end = 7});
  std::vector<int32_t> tokens(6);
  std::vector<uint8_t> opens(6, 9);
  source.read(0, tokens, opens);
  EXPECT_EQ(opens, (std::vector<uint8_t>{1, 0, 1, 0, 0, 1}));
  source.read(2, std::span(tokens).first(2), std::span(opens).first(2));
  EXPECT_EQ(opens[0], 1);
  EXPECT_EQ(opens[1], 0);
}

TEST_F(BinSourceTest, IsOneDocumentWithoutAnEndToken) {
  folder_.write("a.bin", gpt2_shard({0, 0, 0}));
  std::vector<int32_t> tokens(3);
  std::vector<uint8_t> opens(3, 9);
  open("a.bin").read(0, tokens, opens);
  EXPECT_EQ(opens, (std::vector<uint8_t>{1, 0, 0}));
}

TEST_F(BinSourceTest, NamesTheTokenThatIsNotInTheVocabulary) {
  folder_.write("a.bin", gpt2_shard({1, 2, 300}));
  const BinSource source = open("a.bin", 256);
  EXPECT_EQ(user_error_of([&] { tokens_of(source); }), "token 300 at position 2 of " +
                                                           (folder_.path() / "a.bin").string() +
                                                           " is not below the vocabulary of 256");
}

TEST_F(BinSourceTest, SaysWhatIsWrongWithAFile) {
  const std::string good = gpt2_shard({1, 2, 3});
  folder_.write("cut.bin", good.substr(0, good.size() - 1));
  folder_.write("long.bin", good + "x");
  folder_.write("header.bin", good.substr(0, 100));
  folder_.write("zero.bin", "");
  folder_.write("none.bin", gpt2_shard({}));
  folder_.write("magic.bin", shard<uint16_t>(7, 1, {1}));
  folder_.write("version.bin", shard<uint16_t>(20240520, 3, {1}));
  EXPECT_EQ(error_of("cut.bin"), "cut.bin has 1029 bytes, but its 3 tokens need 1030");
  EXPECT_EQ(error_of("long.bin"), "long.bin has 1031 bytes, but its 3 tokens need 1030");
  EXPECT_EQ(error_of("header.bin"), "header.bin has 100 bytes, but a token file begins with 1024");
  EXPECT_EQ(error_of("zero.bin"), "zero.bin has 0 bytes, but a token file begins with 1024");
  EXPECT_EQ(error_of("none.bin"), "none.bin says that it holds 0 tokens");
  EXPECT_EQ(error_of("magic.bin"),
            "magic.bin has magic 7 version 1; supported are 20240520 versions 1 and 2 and 20240801 "
            "version 7");
  EXPECT_EQ(error_of("version.bin"),
            "version.bin has magic 20240520 version 3; supported are 20240520 versions 1 and 2 and "
            "20240801 version 7");
  EXPECT_EQ(error_of("missing_*.bin"), "no token file matches missing_*.bin");
}

}  // namespace
}  // namespace tessera
