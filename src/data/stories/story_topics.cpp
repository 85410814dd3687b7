// SPDX-License-Identifier: Apache-2.0
// One function for each kind of question. An answer follows from its question alone, except that
// there are many stories about a pony.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "data/stories/story_chat.h"
#include "data/stories/story_facts.h"
#include "data/stories/story_grammar.h"
#include "data/stories/story_questions.h"
#include "data/stories/story_sums.h"
#include "data/stories/story_text.h"

namespace tessera {
namespace {

constexpr size_t kWrongAnswers = 3;

std::string filled(std::string_view pattern, const StoryCast& cast, StoryDraws& draws) {
  std::string text;
  append_pattern(pattern, cast, draws, text);
  return text;
}

// The way that people type: now and then without a capital or a full stop.
std::string typed(std::string text, StoryDraws& draws) {
  const std::string_view first = std::string_view(text).substr(0, text.find_first_of(" ,!?.'"));
  const bool name = first == "I" || std::ranges::any_of(kPeople, [&](const StoryPerson& person) {
                      return person.name == first;
                    });
  if (!name && draws.below(4) == 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  if (draws.below(4) == 0) text.pop_back();
  return text;
}

// The answer's pattern with other casts, as long as it gives other texts.
template <typename NextCast>
void add_wrong(std::string_view pattern, const NextCast& next, StoryDraws& draws,
               StoryExchange& exchange) {
  for (int tries = 0; tries < 24 && exchange.wrong.size() < kWrongAnswers; ++tries) {
    std::string other = filled(pattern, next(), draws);
    if (other != exchange.answer &&
        std::ranges::find(exchange.wrong, other) == exchange.wrong.end())
      exchange.wrong.push_back(std::move(other));
  }
}

StoryExchange ask_sum(StoryDraws& draws) {
  const SumForm& form = draws.draw(kSumForms);
  const StoryCast cast = draw_sum(form.sign, draws);
  StoryExchange exchange{.question = typed(filled(form.question, cast, draws), draws),
                         .answer = filled(form.answer, cast, draws),
                         .key = sum_key(form.sign, cast),
                         .wrong = {},
                         .needs = {}};
  const auto near = [&] {
    StoryCast other = cast;  // with another result, which is near more often than not
    const uint64_t result = form.sign == '+' ? cast.n + cast.m : cast.n - cast.m;
    const uint64_t by = draws.below(3) == 0 ? 10 : draws.between(1, 3);
    const uint64_t moved = result >= by && draws.below(2) == 0 ? result - by : result + by;
    other.sum = moved;
    return other;
  };
  add_wrong(form.answer, near, draws, exchange);
  return exchange;
}

StoryExchange ask_fact(StoryDraws& draws) {
  const StoryFact& fact = draws.draw(kFacts);
  const FactForm& form = kFactForms[static_cast<size_t>(fact.kind)];
  StoryCast cast;
  cast.subject = fact.subject;
  cast.value = fact.value;
  const std::string question = filled(form.question, cast, draws);
  StoryExchange exchange{.question = typed(question, draws),
                         .answer = filled(form.answer, cast, draws),
                         .key = question,
                         .wrong = {},
                         .needs = {}};
  const auto another = [&] {
    StoryCast other = cast;
    const StoryFact& drawn = draws.draw(kFacts);
    if (drawn.kind == fact.kind) other.value = drawn.value;
    return other;
  };
  for (int round = 0; round < 8; ++round) add_wrong(form.answer, another, draws, exchange);
  return exchange;
}

StoryExchange ask_unknown(StoryDraws& draws) {
  StoryCast cast;
  cast.subject = draws.draw(kUnknown);
  const std::string question = filled(
      "[What do you know about {subject}?|Tell me about {subject}.|What is {subject}?|Can you tell "
      "me about {subject}?]",
      cast, draws);
  return {.question = typed(question, draws),
          .answer = "I do not know that. I know stories, sums and animals.",
          .key = question,
          .wrong = {},
          .needs = {}};
}

struct StoryRequest {
  std::string_view about, plot_slot, opening_slot;
};

constexpr std::array<StoryRequest, 6> kRequests{{
    {"a {animal}", "animal", ""},
    {"a {animal} and a {boy} called {A}", "animal", ""},
    {"a {thing}", "thing", ""},
    {"{A}", "", ""},
    {"{A} and {B}", "", ""},
    {"the {place}", "", "place"},
}};

// Of the questions about a part of the story, one.
template <typename List>
const StoryQuestion& draw_question(const List& questions, size_t pattern, StoryDraws& draws) {
  std::vector<const StoryQuestion*> suitable;
  for (const StoryQuestion& question : questions)
    if (question.pattern == pattern) suitable.push_back(&question);
  TESSERA_CHECK(!suitable.empty(), "nothing is asked about pattern {}", pattern);
  return *draws.draw(suitable);
}

// About what is told by the plot, the opening, or, where there is one, the counting.
const StoryQuestion& draw_question(const ToldStory& story, StoryDraws& draws) {
  const uint64_t part = draws.below(3);
  if (part == 2 && story.counting) return draw_question(kCountingQuestions, *story.counting, draws);
  return part == 1 ? draw_question(kOpeningQuestions, story.opening, draws)
                   : draw_question(kPlotQuestions, story.plot, draws);
}

StoryExchange ask_story(StoryDraws& draws) {
  const StoryRequest& request = draws.draw(kRequests);
  const StoryCast cast = draw_cast(draws);
  const std::string about = filled(request.about, cast, draws);
  StoryCast words = cast;
  words.subject = about;
  const std::string question = filled(
      "[Tell me a story about {subject}.|Can you tell me a story about {subject}?|Please tell me a "
      "story about {subject}.|I would like a story about {subject}.|Write a story about "
      "{subject}.|Do you know a story about {subject}?]",
      words, draws);
  const ToldStory story = tell_story(
      cast, {.plot_slot = request.plot_slot, .opening_slot = request.opening_slot}, draws);
  const StoryQuestion& next = draw_question(story, draws);
  StoryExchange exchange{
      .question = typed(question, draws),
      .answer = story.text,
      .key = question,
      .wrong = {},
      .needs = {},
      .follow_up = StoryFollowUp{typed(filled(next.question, cast, draws), draws),
                                 filled(next.answer, cast, draws), true}};
  for (const auto& [slot, word] :
       {std::pair{"{animal}", cast.animal}, std::pair{"{thing}", cast.thing},
        std::pair{"{place}", cast.place.name}, std::pair{"{A}", cast.hero.name},
        std::pair{"{B}", cast.friend_.name}})
    if (request.about.find(slot) != std::string_view::npos) exchange.needs.emplace_back(word);
  return exchange;
}

StoryExchange ask_about_story(StoryDraws& draws) {
  const StoryCast cast = draw_cast(draws);
  const ToldStory story = tell_story(cast, {}, draws);
  const StoryQuestion& asked = draw_question(story, draws);
  const std::string text = story.text.substr(0, story.plot_end);
  const std::string question = filled(asked.question, cast, draws);
  StoryCast words;
  words.value = text;
  words.subject = question;
  StoryExchange exchange{.question = filled(draws.draw(kReadings), words, draws),
                         .answer = filled(asked.answer, cast, draws),
                         .key = {},
                         .wrong = {},
                         .needs = {}};
  exchange.key = exchange.question;
  int tries = 0;
  const auto another = [&] {  // the more like the story, the harder to tell
    StoryCast other = draw_cast(draws);
    if (++tries > 12) return other;
    other.hero = cast.hero;
    other.friend_ = cast.friend_;
    other.counted = cast.counted;
    if (tries == 1) {
      other = cast;
      std::swap(other.hero, other.friend_);
      std::swap(other.n, other.m);
    }
    return other;
  };
  add_wrong(asked.answer, another, draws, exchange);
  return exchange;
}

struct SmallTalk {
  std::string_view question, answer;
};

constexpr std::array<SmallTalk, 9> kSmallTalk{{
    {"[Hello|Hi|Good morning|Good evening|Hey]!", "Hello! What can I do for you?"},
    {"[Hello|Hi|Good morning|Good evening|Hey], [I am|my name is] {A}.",
     "Hello, {A}! What can I do for you?"},
    {"[I am|My name is] {A}. [What is my name?|Who am I?|Do you know my name?]",
     "Your name is {A}."},
    {"[Who are you?|What are you?|What is your name?|Are you a robot?]",
     "I am a small model that has read many stories."},
    {"[What can you do?|How can you help me?|What do you know?|Can you help me?]",
     "I can tell stories, do sums and answer questions."},
    {"[Thank you|Thanks|Thank you very much|That was nice|Well done]!", "You are welcome!"},
    {"[Good night|Goodbye|Bye|See you tomorrow]!", "Goodbye! Come again soon."},
    {"[Good night|Goodbye|Bye], {A} is [tired|going home].", "Goodbye, {A}! Come again soon."},
    {"How are you[| today|, my friend]?", "I am well, thank you. What can I do for you?"},
}};

StoryExchange ask_small_talk(StoryDraws& draws) {
  const SmallTalk& talk = draws.draw(kSmallTalk);
  const StoryCast cast = draw_cast(draws);
  const std::string question = filled(talk.question, cast, draws);
  StoryExchange exchange{.question = typed(question, draws),
                         .answer = filled(talk.answer, cast, draws),
                         .key = question,
                         .wrong = {},
                         .needs = {}};
  if (exchange.answer.starts_with("Hello, "))
    exchange.follow_up =
        StoryFollowUp{filled("[What is my name?|Who am I?|Do you know my name?]", cast, draws),
                      filled("Your name is {A}.", cast, draws)};
  return exchange;
}

}  // namespace

const std::vector<StoryTopic>& story_topics() {
  static const std::vector<StoryTopic> topics{
      {"sums", 28, ask_sum},
      {"facts", 24, ask_fact},
      {"stories", 8, ask_story},
      {"reading", 24, ask_about_story},
      {"small_talk", 12, ask_small_talk},
      {"unknown", 4, ask_unknown},
  };
  return topics;
}

}  // namespace tessera
