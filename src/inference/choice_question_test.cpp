// SPDX-License-Identifier: Apache-2.0
#include "inference/choice_question.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

ChoiceQuestion parsed(std::string_view line) { return parse_choice_question(line, "line 1"); }

std::string refusal(std::string_view line) {
  return user_error_of([&] { parsed(line); });
}

std::vector<size_t> answers_of(const std::string& choices, const std::string& answer) {
  return parsed(R"({"context": "c", "choices": )" + choices + R"(, "answer": )" + answer + "}")
      .answers;
}

using Answers = std::vector<size_t>;

TEST(ChoiceQuestion, TakesAContextWordForWordAndAsksAQuestionAsTheHarnessAsksArc) {
  const ChoiceQuestion plain = parsed(R"({"context": "2 =", "choices": [" 2", "3"], "answer": 1})");
  EXPECT_EQ(plain.choices[0].context, "2 =");
  EXPECT_EQ(plain.choices[0].continuation, " 2");
  EXPECT_EQ(plain.choices[1].continuation, "3");
  const ChoiceQuestion arc = parsed(
      R"({"question": "Why?", "choices": {"text": ["So", "No"], "label": ["1", "2"]}, "answerKey": "2"})");
  EXPECT_EQ(arc.choices[1].context, "Question: Why?\nAnswer:");
  EXPECT_EQ(arc.choices[1].continuation, " No");
  EXPECT_EQ(arc.choices[1].text, "No");
  EXPECT_EQ(arc.answers, Answers{1});
}

TEST(ChoiceQuestion, AnAnswerIsAnIndexATextOrALetter) {
  EXPECT_EQ(answers_of(R"([" x", " y"])", "1"), Answers{1});
  EXPECT_EQ(answers_of(R"([" x", " y"])", R"("y")"), Answers{1});
  EXPECT_EQ(answers_of(R"([" x", " y"])", R"(" y")"), Answers{1});
  EXPECT_EQ(answers_of(R"([" x", " y"])", R"("B")"), Answers{1});
  EXPECT_EQ(answers_of(R"([" x", " y", " z"])", "[0, 2]"), (Answers{0, 2}));
  // Texts before letters, letters before numbers.
  EXPECT_EQ(answers_of(R"(["B", "A"])", R"("A")"), Answers{1});
  EXPECT_EQ(answers_of(R"(["1", "0"])", R"("0")"), Answers{1});
}

TEST(ChoiceQuestion, OfTheHarnessANumberComesBeforeATextAsItWritesNumbersAsTexts) {
  const auto target = [](const std::string& text) {
    return parsed(R"({"target": )" + text +
                  R"(, "arguments": {"gen_args_0": {"arg_0": "c", "arg_1": " 1"},)" +
                  R"( "gen_args_1": {"arg_0": "c", "arg_1": " 0"}}})")
        .answers;
  };
  EXPECT_EQ(target(R"("0")"), Answers{0});
  EXPECT_EQ(target("1"), Answers{1});
  EXPECT_EQ(target(R"("[0, 1]")"), (Answers{0, 1}));
}

// One space between context and choice is the harness's delimiter, and no part of the choice.
TEST(ChoiceQuestion, OfTheHarnessAChoiceIsTheContinuationWithoutItsDelimiter) {
  const ChoiceQuestion spaced = parsed(
      R"({"target": 0, "arguments": [["c", " ab"], ["c", "  d"]], "filtered_resps": [["-1.5", "True"], [-2, false]]})");
  EXPECT_EQ(spaced.choices[0].text, "ab");
  EXPECT_EQ(spaced.choices[1].text, " d");
  EXPECT_EQ(spaced.choices[0].stored->log, -1.5);
  EXPECT_TRUE(spaced.choices[0].stored->greedy);
  EXPECT_EQ(spaced.choices[1].stored->log, -2);
  const ChoiceQuestion close = parsed(R"({"target": 0, "arguments": [["c", " ab"], ["c", "d"]]})");
  EXPECT_EQ(close.choices[0].text, " ab");
  EXPECT_FALSE(close.choices[0].stored);
}

TEST(ChoiceQuestion, LeavesOutWhatIsAskedOnceMoreWithoutAContext) {
  const ChoiceQuestion question =
      parsed(R"({"target": 1, "arguments": [["c", " a"], ["c", " b"], ["", " a"], ["", " b"]]})");
  EXPECT_EQ(question.choices.size(), 2u);
}

TEST(ChoiceQuestion, RefusesWhatCannotBeScored) {
  EXPECT_EQ(refusal(R"({"context": "c", "answer": 0})"), "there are no choices");
  EXPECT_EQ(refusal(R"({"context": "c", "choices": ["a"], "answer": 0})"),
            "a question has two choices or more, and this line has 1");
  EXPECT_EQ(refusal(R"({"context": "c", "choices": ["a", ""], "answer": 0})"), "choice 2 is empty");
  EXPECT_EQ(refusal(R"({"context": "c", "choices": ["a", "b"], "answer": 2})"),
            "the answer is 2, but the 2 choices are numbered from 0 to 1");
  EXPECT_EQ(refusal(R"({"context": "c", "choices": ["a", "b"], "answer": "x"})"),
            R"(the answer "x" is none of the 2 choices, nor a letter or a number of one)");
  EXPECT_EQ(refusal(R"({"context": "c", "choices": ["a", "b"]})"), "there is no answer");
  EXPECT_EQ(refusal(R"({"choices": ["a", "b"], "answer": 0})"),
            "there is neither a context nor a question");
  EXPECT_EQ(refusal(R"({"context": "c", "question": "q", "choices": ["a", "b"], "answer": 0})"),
            "there is both a context and a question");
  EXPECT_EQ(refusal(R"({"context": "c", "choices": ["a", 3], "answer": 0})"),
            "a choice is not a text: 3");
  EXPECT_EQ(refusal("[]"), "the line is not an object");
  EXPECT_EQ(refusal(R"({"target": 0, "arguments": [["c", {"until": "."}], ["c", " b"]]})"),
            R"(argument 1 is not a context and a continuation: ["c",{"until":"."}])");
  EXPECT_EQ(
      refusal(R"({"target": " x", "arguments": [["a", " x"], ["b", " x"]]})"),
      "the choices differ in their contexts alone; the harness does not store which is right");
}

TEST(ChoiceQuestion, SaysInWhichLineAMistakeIs) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "q.jsonl", "{\"context\": \"c\", \"choices\": [\"a\", \"b\"], \"answer\": 0}\n\n{}\n");
  EXPECT_EQ(read_choice_questions(path, 1).size(), 1u);
  try {
    read_choice_questions(path);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.place(), path.string() + ", line 3");
  }
}

}  // namespace
}  // namespace tessera
