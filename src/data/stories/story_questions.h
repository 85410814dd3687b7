// SPDX-License-Identifier: Apache-2.0
// What can be asked about a story: each row names the pattern of story_grammar.h, by its place in
// the list, that tells the answer. Wrong answers are the answer's pattern with another cast.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tessera {

struct StoryQuestion {
  size_t pattern;
  std::string_view question, answer;
};

inline constexpr std::array<StoryQuestion, 14> kOpeningQuestions{{
    {0, "Who was {A}'s best friend?", "{A}'s best friend was {B}."},
    {0, "Where did {A} live?", "{A} lived near the {place}."},
    {1, "Where was {A}?", "{A} was {at}."},
    {1, "Who was with {A}?", "{B} was with {A}."},
    {1, "What was the weather like?", "It was {weather}."},
    {2, "Who was {A}'s friend?", "{A}'s friend was {B}."},
    {2, "Where were {A} and {B}?", "They were {at}."},
    {2, "Who is the story about?", "The story is about {A} and {B}."},
    {3, "Where did {A} go?", "{A} went to the {place}."},
    {3, "What was the weather like?", "It was {weather}."},
    {3, "Who was with {A}?", "{B} was with {A}."},
    {4, "Who was {A}'s friend?", "{A}'s friend was {B}."},
    {4, "Was {A} a boy or a girl?", "{A} was a {boy}."},
    {4, "Who is the story about?", "The story is about {A} and {B}."},
}};

inline constexpr std::array<StoryQuestion, 24> kPlotQuestions{{
    {0, "What did {A} lose?", "{A} lost {his} {colour} {thing}."},
    {0, "Who found the {thing}?", "{B} found the {thing}."},
    {1, "Which animal did {A} meet?", "{A} met a little {animal}."},
    {1, "Who was kind to the {animal}?", "{A} was kind to the {animal}."},
    {2, "Who helped {A}?", "{B} helped {A}."},
    {2, "Who wanted to learn?", "{A} wanted to learn."},
    {3, "What did {B} bring?", "{B} brought a {colour} {thing}."},
    {3, "Who had an idea?", "{A} had an idea."},
    {4, "Whose birthday was it?", "It was {B}'s birthday."},
    {4, "What did {A} give to {B}?", "{A} gave {b_him} a {colour} {thing}."},
    {5, "Who fell?", "{B} fell."},
    {5, "Who stopped to help?", "{A} stopped to help."},
    {6, "Who was afraid?", "{A} was afraid."},
    {6, "Who was not afraid?", "{B} was not afraid."},
    {7, "What did {A} have?", "{A} had a {colour} {thing}."},
    {7, "Who said sorry?", "{A} said sorry."},
    {8, "Which animal came?", "A {animal} came."},
    {8, "Who put the seed into the ground?", "{A} put the seed into the ground."},
    {9, "Who had a secret?", "{B} had a secret."},
    {9, "Which animal was inside?", "A {animal} was inside."},
    {10, "Which animal came near?", "A {animal} came near."},
    {10, "Who gave the {animal} a piece?", "{B} gave the {animal} a piece."},
    {11, "What did they take with them?", "They took a {colour} {thing}."},
    {11, "Who was tired?", "{A} was tired."},
}};

inline constexpr std::array<StoryQuestion, 7> kCountingQuestions{{
    {0, "How many {many} did {A} have at first?", "{A} had {n}."},
    {1, "How many {many} did {A} give away?", "{A} gave away {m}."},
    {2, "How many {many} did {A} find?", "{A} found {n}."},
    {3, "How many {many} were on the table at first?", "There were {n}."},
    {4, "How many {many} were in the basket?", "There were {n}."},
    {5, "How many {many} did {A} have?", "{A} had {n}."},
    {6, "How many {many} were by the door?", "There were {n} by the door."},
}};

// How the question {subject} is put beside the story {value}: on one line, as in a terminal.
inline constexpr std::array<std::string_view, 5> kReadings{
    "{value} {subject}",
    "{value} My question: {subject}",
    "Here is a story: {value} {subject}",
    "Read this: {value} Now tell me: {subject}",
    "{subject} {value}",
};

}  // namespace tessera
