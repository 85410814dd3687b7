// SPDX-License-Identifier: Apache-2.0
#include "data/stories/story_files.h"

#include <array>

#include "core/error.h"
#include "data/stories/story_facts.h"
#include "data/stories/story_sums.h"
#include "data/stories/story_text.h"
#include "files/json.h"

namespace tessera {
namespace {

constexpr int kPageLines = 12;

std::string told_story(StoryDraws& draws) { return tell_story(draw_cast(draws), {}, draws).text; }

std::string told_facts(StoryDraws& draws) {
  std::string text;
  for (int line = 0; line < kPageLines; ++line) {
    const StoryFact& fact = draws.draw(kFacts);
    StoryCast cast;
    cast.subject = fact.subject;
    cast.value = fact.value;
    append_pattern(kFactForms[static_cast<size_t>(fact.kind)].answer, cast, draws, text);
    text += line + 1 < kPageLines ? " " : "";
  }
  return text;
}

constexpr std::array<SumForm, 4> kToldSums{{
    {'+', "", "{x} + {y} = {sum}."},
    {'-', "", "{x} - {y} = {sum}."},
    {'+', "", "{A} has {n}. {B} gives {him} {y} more. Now {A} has {total}."},
    {'-', "", "{A} has {n} and gives {y} of them to {B}. Now {A} has {total}."},
}};

std::string told_sums(StoryDraws& draws) {
  std::string text;
  for (int line = 0; line < kPageLines;) {
    const SumForm& form = draws.draw(kToldSums);
    const StoryCast cast = draw_sum(form.sign, draws);
    if (split_of(sum_key(form.sign, cast)) == StorySplit::HeldOut) continue;
    append_pattern(form.answer, cast, draws, text);
    text += ++line < kPageLines ? "\n" : "";
  }
  return text;
}

// Questions with their answers, each on a line. They are others than those of the conversations.
std::string told_answers(uint64_t seed, uint64_t index) {
  constexpr uint64_t kConversations = 4;
  const uint64_t own_seed = RandomStream(seed, "page_of_questions").bits(0);
  std::string text;
  for (uint64_t i = 0; i < kConversations; ++i)
    for (const StoryExchange& exchange :
         make_conversation(own_seed, index * kConversations + i, StorySplit::Training).exchanges)
      if (exchange.needs.empty()) text += exchange.question + '\n' + exchange.answer + '\n';
  return text;
}

}  // namespace

std::string story_text_line(uint64_t seed, uint64_t index) {
  StoryDraws draws(seed, "document", index);
  const uint64_t kind = draws.below(10);
  const std::string text = kind < 5   ? told_story(draws)
                           : kind < 6 ? told_facts(draws)
                           : kind < 8 ? told_sums(draws)
                                      : told_answers(seed, index);
  return Json{{"text", text}}.dump();
}

std::string story_chat_line(uint64_t seed, uint64_t index, StorySplit split) {
  const StoryConversation conversation = make_conversation(seed, index, split);
  Json messages = Json::array();
  for (const StoryExchange& exchange : conversation.exchanges) {
    messages.push_back(Json{{"role", "user"}, {"content", exchange.question}});
    messages.push_back(Json{{"role", "assistant"}, {"content", exchange.answer}});
  }
  Json line{{"messages", std::move(messages)}, {"topic", conversation.topic}};
  if (const StoryExchange& last = conversation.exchanges.back(); !last.needs.empty())
    line["needs"] = Json(last.needs);
  return line.dump();
}

// Conversations without wrong answers are passed over.
std::string story_choice_line(uint64_t seed, uint64_t index) {
  constexpr uint64_t kMostTries = 256;
  for (uint64_t tries = 0; tries < kMostTries; ++tries) {
    const StoryConversation conversation =
        make_conversation(seed, index * kMostTries + tries, StorySplit::HeldOut);
    const StoryExchange& asked = conversation.exchanges.back();
    if (asked.wrong.empty()) continue;
    std::vector<std::string> choices = asked.wrong;
    const uint64_t answer = StoryDraws(seed, "answer", index).below(choices.size() + 1);
    choices.insert(choices.begin() + static_cast<std::ptrdiff_t>(answer), asked.answer);
    return Json{
        {"context", "<|im_start|>user\n" + asked.question + "<|im_end|>\n<|im_start|>assistant\n"},
        {"choices", choices},
        {"answer", answer},
        {"topic", conversation.topic}}
        .dump();
  }
  check_failed("a question has choices", __FILE__, __LINE__, "");
}

}  // namespace tessera
