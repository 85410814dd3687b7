// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer_file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "core/testing/user_error_of.h"
#include "tokenizer/encoder.h"
#include "tokenizer/testing/made_tokenizer.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

// The error for a good file with one field changed.
std::string error_with(const std::string& place, const Json& value) {
  Json file = Json::parse(made_tokenizer_json({}));
  file[Json::json_pointer(place)] = value;
  return user_error_of([&] { parse_tokenizer(file.dump(), "made"); });
}

TEST(TokenizerFile, RefusesWhatWouldChangeTokensAndIsNotKnown) {
  EXPECT_EQ(error_with("/model/type", "Unigram"),
            "the model is of type \"Unigram\", which is not supported");
  EXPECT_EQ(error_with("/model/dropout", 0.1), "the model has dropout 0.1, which is not supported");
  EXPECT_EQ(error_with("/model/byte_fallback", true),
            "the model has byte_fallback, so it is not byte-level");
  EXPECT_EQ(error_with("/model/end_of_word_suffix", "</w>"),
            "the model has end_of_word_suffix \"</w>\", which is not supported");
  EXPECT_EQ(error_with("/normalizer", {{"type", "Lowercase"}}),
            "normalizer is of type Lowercase, which is not supported");
  EXPECT_EQ(error_with("/pre_tokenizer", {{"type", "Metaspace"}}),
            "pre_tokenizer is of type Metaspace, which is not supported");
  EXPECT_EQ(error_with("/pre_tokenizer", nullptr), "pre_tokenizer has no ByteLevel");
  EXPECT_EQ(error_with("/post_processor", {{"type", "BertProcessing"}}),
            "post_processor is of type BertProcessing, which is not supported");
  EXPECT_EQ(error_with("/decoder", {{"type", "WordPiece"}}),
            "decoder is of type WordPiece, which is not supported");
}

TEST(TokenizerFile, NamesWhatIsMissingOrWrong) {
  EXPECT_EQ(error_with("/model/vocab", 1), "vocab is missing or not an object");
  EXPECT_EQ(error_with("/model/vocab/a", 66), "two tokens of the vocabulary have the id 66");
  EXPECT_EQ(error_with("/model/vocab/a", 1e9), "the token a has no id from 0 to 1048575");
  EXPECT_EQ(error_with("/model/merges/0", "x"),
            "merge 0 is neither two tokens separated by a space nor a list of two");
  EXPECT_EQ(error_with("/model/merges/3", "zz y"),
            "merge 3 has zz, which is not in the vocabulary");
  EXPECT_EQ(error_with("/added_tokens/0", {{"id", 7}, {"content", "a"}}),
            "the added token a has the id 7, but in the vocabulary it has 97");
  EXPECT_EQ(error_with("/added_tokens/0", {{"id", 7}, {"content", "abc"}}),
            "the added token abc has the id 7 of another token");
  EXPECT_EQ(user_error_of([] { parse_tokenizer("[1]", "made"); }), "made is not a JSON object");
  EXPECT_EQ(user_error_of([] { parse_tokenizer("{", "made"); }), "made is not JSON");
}

TEST(TokenizerFile, SurvivesFilesThatAreDamaged) {
  const std::string good = made_tokenizer_json({.rule = kLlama3Rule, .merges_as_pairs = true});
  const RandomStream random(5, "damage");
  uint64_t draws = 0;
  int read = 0;
  for (int round = 0; round < 60; ++round) {
    std::string bad = good;
    for (uint64_t flips = 1 + random.below(draws++, 4); flips > 0; --flips) {
      char& hit = bad[random.below(draws++, bad.size())];
      hit = static_cast<char>(hit ^ 1 << random.below(draws++, 7));
    }
    if (round % 4 == 0) bad.resize(random.below(draws++, bad.size()));
    try {
      const Tokenizer tokenizer = parse_tokenizer(bad, "made");
      Encoder(tokenizer).encode("The thing it's 1234\n");
      ++read;
    } catch (const UserError&) {
    }
  }
  EXPECT_LT(read, 60);
}

}  // namespace
}  // namespace tessera
