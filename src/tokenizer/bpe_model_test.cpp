// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/random.h"
#include "core/testing/user_error_of.h"
#include "tokenizer/testing/reference_split.h"

namespace tessera {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// All bytes by value, then the merges "ab c" by rank.
struct Fixture {
  std::vector<BytesToken> tokens;
  std::vector<BpeMerge> merges;
  ReferenceRanks ranks;

  explicit Fixture(const Pairs& pairs) {
    for (int byte = 0; byte < 256; ++byte)
      tokens.push_back({std::string(1, static_cast<char>(byte)), byte});
    for (const auto& [left, right] : pairs) {
      if (!id(left + right)) tokens.push_back({left + right, static_cast<int32_t>(tokens.size())});
      merges.push_back({*id(left), *id(right), *id(left + right)});
      ranks[{left, right}] = static_cast<int>(merges.size()) - 1;
    }
  }
  std::optional<int32_t> id(const std::string& bytes) const {
    for (const BytesToken& token : tokens)
      if (token.bytes == bytes) return token.id;
    return std::nullopt;
  }
  std::vector<std::string> encode(const std::string& word, bool ignore_merges = false) const {
    std::vector<int32_t> ids;
    BpeModel::Scratch scratch;
    BpeModel(tokens, merges, ignore_merges).encode_word(word, ids, scratch);
    std::vector<std::string> parts;
    for (const int32_t each : ids) parts.push_back(tokens[static_cast<size_t>(each)].bytes);
    return parts;
  }
};

using Parts = std::vector<std::string>;

TEST(BpeModel, MergesTheFirstRankBeforeTheLeftmostPair) {
  const Fixture bpe(Pairs{{"b", "c"}, {"a", "b"}, {"a", "bc"}});
  EXPECT_EQ(bpe.encode("abc"), (Parts{"abc"}));
  EXPECT_EQ(bpe.encode("abab"), (Parts{"ab", "ab"}));
  EXPECT_EQ(bpe.encode("x"), (Parts{"x"}));
}

TEST(BpeModel, MergesEqualPairsFromTheLeft) {
  const Fixture bpe(Pairs{{"a", "a"}, {"aa", "aa"}});
  EXPECT_EQ(bpe.encode("aaaaaaa"), (Parts{"aaaa", "aa", "a"}));
}

TEST(BpeModel, TakesAWholeWordWhereMergesAreIgnored) {
  Fixture bpe(Pairs{{"a", "b"}});
  bpe.tokens.push_back({"abc", 257});
  EXPECT_EQ(bpe.encode("abc", false), (Parts{"ab", "c"}));
  EXPECT_EQ(bpe.encode("abc", true), (Parts{"abc"}));
}

TEST(BpeModel, AgreesWithTheDefinitionOnRandomWords) {
  const RandomStream random(3, "bpe");
  uint64_t draws = 0;
  for (int round = 0; round < 20; ++round) {
    Pairs pairs;
    std::vector<std::string> known{"a", "b", "c"};
    for (int i = 0; i < 30; ++i) {
      const std::string left = known[random.below(draws++, known.size())];
      const std::string right = known[random.below(draws++, known.size())];
      if (std::find(pairs.begin(), pairs.end(), std::pair(left, right)) != pairs.end()) continue;
      pairs.emplace_back(left, right);
      known.push_back(left + right);
    }
    const Fixture bpe(pairs);
    for (int i = 0; i < 20; ++i) {
      std::string word;
      for (uint64_t n = 1 + random.below(draws++, 60); n > 0; --n)
        word += static_cast<char>('a' + random.below(draws++, 3));
      ASSERT_EQ(bpe.encode(word), reference_bpe(word, bpe.ranks)) << word;
    }
  }
}

TEST(BpeModel, NeedsEveryByte) {
  Fixture bpe(Pairs{});
  bpe.tokens.erase(bpe.tokens.begin() + 0x41);
  EXPECT_EQ(user_error_of([&] { bpe.encode("B"); }), "the vocabulary has no token for byte 0x41");
}

}  // namespace
}  // namespace tessera
