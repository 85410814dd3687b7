// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/split_rule.h"

#include <gtest/gtest.h>

#include "core/testing/user_error_of.h"
#include "tokenizer/testing/made_tokenizer.h"
#include "tokenizer/testing/mixed_text.h"
#include "tokenizer/tokenizer_spec.h"

namespace tessera {
namespace {

using Pieces = std::vector<std::string>;

Pieces split(const char* rule, std::string_view text) {
  const SplitRule compiled(rule, false);
  SplitScratch scratch;
  Pieces pieces;
  size_t done = 0;
  while (const auto match = compiled.find(text, done, scratch)) {
    EXPECT_EQ(match->begin, done) << "a gap";
    pieces.emplace_back(text.substr(match->begin, match->end - match->begin));
    done = match->end;
    if (done == text.size()) break;
  }
  EXPECT_EQ(done, text.size());
  return pieces;
}

TEST(SplitRule, CutsAsGpt2Does) {
  EXPECT_EQ(split(kGpt2Rule, "Hello world's  1234 end.\n\n  x \n"),
            (Pieces{"Hello", " world", "'s", " ", " 1234", " end", ".", "\n\n ", " x", " \n"}));
  EXPECT_EQ(split(kGpt2Rule, "we'LL don't\tgo"),
            (Pieces{"we", "'", "LL", " don", "'t", "\t", "go"}));
  EXPECT_EQ(
      split(kGpt2Rule, "it's I'm we're you've he'll she'd"),
      (Pieces{"it", "'s", " I", "'m", " we", "'re", " you", "'ve", " he", "'ll", " she", "'d"}));
  EXPECT_EQ(split(kGpt2Rule, "naïve Größe 快速。½"),
            (Pieces{"naïve", " Größe", " 快速", "。", "½"}));
}

TEST(SplitRule, CutsAsLlama3Does) {
  EXPECT_EQ(split(kLlama3Rule, "Hello world's  1234567 end.\n\n  x \n"),
            (Pieces{"Hello", " world", "'s", " ", " ", "123", "456", "7", " end", ".\n\n", " ",
                    " x", " \n"}));
  EXPECT_EQ(split(kLlama3Rule, "we'LL (don't)\tgo\r\n\r\n\tback"),
            (Pieces{"we", "'LL", " (", "don", "'t", ")", "\tgo", "\r\n\r\n", "\tback"}));
}

TEST(SplitRule, CutsContractionsAsLlama3DoesInAnyCase) {
  for (const char* ending : {"'s", "'T", "'rE", "'ve", "'M", "'lL", "'d"})
    EXPECT_EQ(split(kLlama3Rule, fmt::format("it{}x", ending)), (Pieces{"it", ending, "x"}));
  EXPECT_EQ(split(kLlama3Rule, "it'nx"), (Pieces{"it", "'nx"}));
}

TEST(SplitRule, CutsAsQwenDoesWithEachDigitAlone) {
  EXPECT_EQ(split(kQwenRule, "in 2026"), (Pieces{"in", " ", "2", "0", "2", "6"}));
}

TEST(SplitRule, AgreesWithTheRulesWrittenOutByHand) {
  const std::string text = mixed_text(200'000, 1, false);
  EXPECT_EQ(split(kGpt2Rule, text), reference_gpt2_split(text));
  EXPECT_EQ(split(kLlama3Rule, text), reference_llama3_split(text, 3));
  EXPECT_EQ(split(kQwenRule, text), reference_llama3_split(text, 1));
}

TEST(SplitRule, TakesWhiteSpaceFromUnicode) {
  // U+180E was white space once; U+0085 and U+3000 are.
  EXPECT_EQ(split(kGpt2Rule, "a\xE1\xA0\x8E\xC2\x85\xE3\x80\x80"),
            (Pieces{"a", "\xE1\xA0\x8E", "\xC2\x85\xE3\x80\x80"}));
}

TEST(SplitRule, KnowsTheCharactersOfUnicode16) {
  const std::string letter = "\xF0\x90\xB5\x8A", digit = "\xF0\x90\xB5\x80";  // Garay
  EXPECT_EQ(split(kLlama3Rule, letter + "'S" + digit), (Pieces{letter, "'S", digit}));
  const SplitRule other(R"(\P{L}+)", false);
  SplitScratch scratch;
  EXPECT_FALSE(other.find(letter, 0, scratch));
  EXPECT_TRUE(other.find(digit, 0, scratch));
}

TEST(SplitRule, RefusesWhatEnginesReadDifferently) {
  for (const char* rule : {R"(\w+)", R"([\S])", R"([a&&b])", R"([[:alpha:]])", R"(a{,3})",
                           R"(a{1,3}+)", R"((?m:a.))", R"(\bx)", "[]a]"})
    EXPECT_NE(user_error_of([&] { SplitRule(rule, false); }).find("engines interpret differently"),
              std::string::npos)
        << rule;
}

TEST(SplitRule, NamesARuleThatIsNone) {
  EXPECT_EQ(user_error_of([] { SplitRule("(a", false); }),
            "cannot parse the splitting rule (a: missing closing parenthesis");
}

TEST(SplitRule, GivesUpOnARuleThatGoesBackForever) {
  const SplitRule rule(R"((a+)+(a+)+(a+)+[bc]\d)", false);
  SplitScratch scratch;
  EXPECT_NE(
      user_error_of([&] { rule.find(std::string(60, 'a'), 0, scratch); }).find("fails at byte"),
      std::string::npos);
}

}  // namespace
}  // namespace tessera
