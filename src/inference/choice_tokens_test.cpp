// SPDX-License-Identifier: Apache-2.0
// On bytes, where a token is a character.
#include "inference/choice_tokens.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "tokenizer/testing/made_tokenizer.h"

namespace tessera {
namespace {

ChoiceQuestion question(const std::string& context, const std::vector<std::string>& choices) {
  ChoiceQuestion made{.choices = {}, .answers = {0}, .doc = {}, .place = "line 1"};
  for (const std::string& choice : choices)
    made.choices.push_back({.context = context, .continuation = choice, .text = choice});
  return made;
}

ChoiceTokens split(const std::string& context, const std::vector<std::string>& choices,
                   int64_t most = 64, const std::string& prefix = "") {
  return choice_tokens({question(context, choices)}, TokenText("", 256), prefix, most);
}

std::string text(const std::vector<int32_t>& tokens) { return {tokens.begin(), tokens.end()}; }

TEST(ChoiceTokens, SpacesAtTheEndOfAContextBelongToTheChoice) {
  const ChoiceTokens tokens = split("ab \n\xC2\xA0", {"c"});
  EXPECT_EQ(text(tokens.all[0].context), "ab");
  EXPECT_EQ(text(tokens.all[0].texts[0]),
            " \n\xC2\xA0"
            "c");
}

TEST(ChoiceTokens, ChoicesOfAQuestionShareTheirContext) {
  const ChoiceTokens tokens = split("ab", {"c", "de"});
  ASSERT_EQ(tokens.all.size(), 1u);
  EXPECT_EQ(text(tokens.all[0].texts[1]), "de");
  EXPECT_EQ(tokens.contexts, 2);
  EXPECT_EQ(tokens.texts, 3);
}

// A model that sees 4 tokens reads all but the last of what it scores.
TEST(ChoiceTokens, WhatIsTooLongIsCutFromTheLeft) {
  const ChoiceTokens tokens = split("abcd", {"x", "xyz"}, 4);
  ASSERT_EQ(tokens.all.size(), 2u);
  EXPECT_EQ(text(tokens.all[0].context), "abcd");
  EXPECT_EQ(text(tokens.all[1].context), "cd");
  EXPECT_EQ(tokens.cut, 1);
}

TEST(ChoiceTokens, AnEmptyContextIsWhatBeginsADocument) {
  EXPECT_EQ(text(split("", {"x"}).all[0].context), "\n");
  EXPECT_EQ(text(split("", {"x"}, 64, "<s>").all[0].context), "<s>");
  EXPECT_EQ(text(split("a", {"x"}, 64, "<s>").all[0].context), "<s>a");
}

TEST(ChoiceTokens, ATemplateBeginsEveryContextOnce) {
  const TemporaryFolder folder;
  const auto file = folder.write(
      "tokenizer.json",
      made_tokenizer_json({.added = R"([{"id": 900, "content": "<|endoftext|>", "special": true}])",
                           .post_processor = R"({"type": "TemplateProcessing", "single": [
               {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"<|endoftext|>":
               {"id": "<|endoftext|>", "ids": [900], "tokens": ["<|endoftext|>"]}}})"}));
  const TokenText words(file, 901);
  for (const char* context : {"", "a", "<|endoftext|>a"}) {
    const ChoiceTokens tokens = choice_tokens({question(context, {"x"})}, words, "", 64);
    EXPECT_EQ(tokens.all[0].context.front(), 900);
    EXPECT_EQ(tokens.all[0].context.size(), *context == 0 ? 1u : 2u);
    EXPECT_EQ(tokens.all[0].texts[0].size(), 1u);
  }
}

TEST(ChoiceTokens, RefusesAChoiceWithoutATokenOrLongerThanTheModelSees) {
  EXPECT_EQ(user_error_of([] {
              split("a", {"xyz", "vwxyz"}, 4);
            }),
            "choice 2 has 5 tokens, and the model sees 4");
}

}  // namespace
}  // namespace tessera
