// SPDX-License-Identifier: Apache-2.0
#include "inference/choice_scores.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

ChoiceQuestion question(const std::vector<std::string>& choices, std::vector<size_t> answers) {
  ChoiceQuestion made{.choices = {}, .answers = std::move(answers), .doc = {}, .place = ""};
  for (const std::string& choice : choices)
    made.choices.push_back({.context = "c", .continuation = " " + choice, .text = choice});
  return made;
}

// "naïve" has 5 characters and 6 bytes: -5.5 is the better of the two by neither, -1.1 by its
// characters, -0.9167 by its bytes.
TEST(ChoiceScores, DividesByCharactersAsTheHarnessDoesForAccNormAndByBytesForAccBytes) {
  const ChoiceQuestion asked = question({"na\xC3\xAFve", "wood"}, {0});
  const std::vector<Likelihood> scores{{.log = -5.5}, {.log = -4}};
  const ChoiceResult result = choice_result(asked, scores);
  EXPECT_EQ(result.taken, 1u);
  EXPECT_FALSE(result.right);
  EXPECT_FALSE(result.right_by_characters);
  EXPECT_TRUE(result.right_by_bytes);
}

TEST(ChoiceScores, TakesTheFirstOfEqualsAndAnyAnswerThatIsRight) {
  const std::vector<Likelihood> scores{{.log = -2}, {.log = -1}, {.log = -1}};
  EXPECT_EQ(choice_result(question({"a", "b", "c"}, {0, 1}), scores).taken, 1u);
  EXPECT_TRUE(choice_result(question({"a", "b", "c"}, {0, 1}), scores).right);
  EXPECT_FALSE(choice_result(question({"a", "b", "c"}, {2}), scores).right);
}

TEST(ChoiceScores, HaveTheStandardErrorOfAMeanAndOfOneQuestionNone) {
  std::vector<ChoiceResult> results(5);
  results[0].right = results[1].right = true;
  const MeanScore acc = choice_scores(results).acc;
  EXPECT_DOUBLE_EQ(acc.mean, 0.4);
  // Deviations of 0.6 twice and of 0.4 three times.
  EXPECT_DOUBLE_EQ(*acc.error, std::sqrt((2 * 0.36 + 3 * 0.16) / 4 / 5));
  EXPECT_FALSE(choice_scores(std::vector<ChoiceResult>(1)).acc.error);
}

TEST(ChoiceScores, AreComparedOnlyWhereEveryChoiceIsStored) {
  ChoiceQuestion asked = question({"a", "b"}, {0});
  asked.choices[0].stored = {.log = -3, .greedy = true};
  const std::vector<std::vector<Likelihood>> scores{{{.log = -1}, {.log = -2, .greedy = false}}};
  EXPECT_FALSE(compare_with_stored({&asked, 1}, scores));
  asked.choices[1].stored = {.log = -2.5, .greedy = true};
  const auto compared = compare_with_stored({&asked, 1}, scores);
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->same_choice, 0u);
  EXPECT_EQ(compared->same_greedy, 1u);
  EXPECT_DOUBLE_EQ(compared->largest, 2);
  EXPECT_DOUBLE_EQ(compared->mean, 1.25);
}

TEST(ChoiceScores, WriteLinesThatTheyRead) {
  ChoiceQuestion asked = question({"a", "b"}, {0, 1});
  asked.doc = {{"id", 7}};
  const std::vector<Likelihood> scores{{.log = -3}, {.log = -1.0 / 3, .greedy = false}};
  const std::string line = sample_line(4, asked, scores);
  EXPECT_NE(line.find(R"("resps":[[["-3.0","True"]],[["-0.3333333333333333","False"]]])"),
            std::string::npos)
      << line;
  const ChoiceQuestion again = parse_choice_question(line, "");
  EXPECT_EQ(again.answers, asked.answers);
  EXPECT_EQ(again.doc, asked.doc);
  EXPECT_EQ(again.choices[1].text, "b");
  EXPECT_EQ(again.choices[1].stored->log, -1.0 / 3);
}

}  // namespace
}  // namespace tessera
