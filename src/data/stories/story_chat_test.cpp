// SPDX-License-Identifier: Apache-2.0
#include "data/stories/story_chat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "data/stories/story_facts.h"
#include "data/stories/story_files.h"
#include "data/stories/story_grammar.h"
#include "data/stories/story_questions.h"
#include "files/json.h"

namespace tessera {
namespace {

constexpr StorySplit kTraining = StorySplit::Training, kHeldOut = StorySplit::HeldOut;

std::vector<std::string> groups(const std::string& text, const std::regex& regex) {
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), regex);
       it != std::sregex_iterator(); ++it)
    found.push_back(it->str());
  return found;
}

// Of texts such as "3 + 4 = 7".
std::vector<std::string> sums_in(const std::string& text) {
  static const std::regex sum("\\d+ [+-] \\d+ = \\d+");
  return groups(text, sum);
}

std::string key_of_sum(const std::string& sum) {
  int x = 0, y = 0, result = 0;
  char sign = 0;
  EXPECT_EQ(std::sscanf(sum.c_str(), "%d %c %d = %d", &x, &sign, &y, &result), 4);
  EXPECT_EQ(result, sign == '+' ? x + y : x - y) << sum;
  if (sign == '+' && y > x) std::swap(x, y);
  return std::to_string(x) + sign + std::to_string(y);
}

// The bytes are part of what users compare: a change here changes the speedrun's figures.
TEST(StoryChat, IsTheSameBytesOnEveryMachine) {
  EXPECT_EQ(story_chat_line(1, 0, kTraining),
            "{\"messages\":[{\"role\":\"user\",\"content\":\"Noah has 7 flowers. Emma gives him 5 "
            "more. How many flowers does Noah have now?\"},{\"role\":\"assistant\",\"content\":\"7 "
            "+ 5 = 12, so Noah has 12 flowers.\"}],\"topic\":\"sums\"}");
  std::string text;
  for (uint64_t index = 0; index < 300; ++index)
    text += story_text_line(1, index) + story_chat_line(1, index, kTraining) +
            story_chat_line(1, index, kHeldOut) + story_choice_line(1, index);
  EXPECT_EQ(hash_text(text), 16654948100207723974u);
}

TEST(StoryChat, AsksNothingInTrainingThatIsHeldOut) {
  std::set<std::string> trained, held_out;
  for (uint64_t index = 0; index < 2000; ++index) {
    for (const StoryExchange& exchange : make_conversation(1, index, kTraining).exchanges)
      if (!exchange.key.empty()) trained.insert(exchange.key);
    for (const StoryExchange& exchange : make_conversation(2, index, kHeldOut).exchanges)
      if (!exchange.key.empty()) held_out.insert(exchange.key);
  }
  EXPECT_GT(trained.size(), 1000u);
  EXPECT_GT(held_out.size(), 300u);
  for (const std::string& key : held_out) EXPECT_FALSE(trained.contains(key)) << key;
}

TEST(StoryChat, TellsNoHeldOutSumInTextOrTraining) {
  size_t seen = 0;
  for (uint64_t index = 0; index < 1000; ++index)
    for (const std::string& line :
         {story_text_line(1, index), story_chat_line(1, index, kTraining)})
      for (const std::string& sum : sums_in(line)) {
        ++seen;
        EXPECT_EQ(split_of(key_of_sum(sum)), kTraining) << line;
      }
  EXPECT_GT(seen, 1000u);
}

TEST(StoryChat, AsksEveryTopicInBothSplits) {
  for (const StorySplit split : {kTraining, kHeldOut}) {
    std::map<std::string_view, int> seen;
    for (uint64_t index = 0; index < 1000; ++index)
      ++seen[make_conversation(3, index, split).topic];
    EXPECT_EQ(seen.size(), story_topics().size() + 1);  // and second_turn
    for (const auto& [topic, count] : seen) EXPECT_GT(count, 2) << topic;
  }
}

// Every name, animal, thing, place and number of the answer stands in what was asked.
TEST(StoryChat, AnswersQuestionsAboutAStoryFromTheStory) {
  std::set<std::string> words;
  for (const StoryPerson& person : kPeople) words.emplace(person.name);
  for (const StoryPlace& place : kPlaces) words.emplace(place.name);
  for (const StoryWeather& weather : kWeather) words.emplace(weather.adjective);
  for (const auto& list :
       {std::span<const std::string_view>(kAnimals), std::span<const std::string_view>(kThings),
        std::span<const std::string_view>(kColours)})
    words.insert(list.begin(), list.end());
  const std::regex word("[A-Za-z]+|\\d+");
  const auto named = [&](const std::string& text) {
    std::set<std::string> found;
    for (const std::string& each : groups(text, word))
      if (words.contains(each) || std::isdigit(each[0]) != 0) found.insert(each);
    return found;
  };
  size_t seen = 0;
  for (uint64_t index = 0; index < 2000; ++index) {
    const StoryConversation conversation = make_conversation(4, index, kHeldOut);
    if (conversation.topic != "reading") continue;
    ++seen;
    const StoryExchange& asked = conversation.exchanges[0];
    const std::set<std::string> told = named(asked.question), answered = named(asked.answer);
    EXPECT_FALSE(answered.empty()) << asked.answer;
    EXPECT_TRUE(std::ranges::includes(told, answered)) << asked.question << "\n" << asked.answer;
  }
  EXPECT_GT(seen, 100u);
}

TEST(StoryChat, TellsStoriesOfWhatWasAskedFor) {
  for (uint64_t index = 0; index < 1000; ++index)
    for (const StoryExchange& exchange : make_conversation(5, index, kTraining).exchanges)
      for (const std::string& word : exchange.needs) {
        EXPECT_NE(exchange.question.find(word), std::string::npos) << exchange.question;
        EXPECT_NE(exchange.answer.find(word), std::string::npos) << word << "\n" << exchange.answer;
      }
}

TEST(StoryChat, LeavesNoGrammarSigns) {
  for (uint64_t index = 0; index < 1000; ++index)
    for (const StoryExchange& exchange : make_conversation(6, index, kTraining).exchanges)
      for (const std::string& text : {exchange.question, exchange.answer}) {
        EXPECT_EQ(text.find_first_of("[]{}|_"), std::string::npos) << text;
        EXPECT_EQ(text.find("  "), std::string::npos) << text;
      }
}

TEST(StoryChoices, HaveOneRightAnswerAtAnyPlace) {
  std::map<int64_t, int> places;
  for (uint64_t index = 0; index < 400; ++index) {
    const Json line = parse_json(story_choice_line(7, index));
    const auto choices = line.find("choices")->items();
    std::set<std::string> different;
    for (const Json& choice : choices) different.insert(*choice.text());
    EXPECT_EQ(different.size(), choices.size());
    EXPECT_GE(choices.size(), 2u);
    ++places[*line.find("answer")->integer()];
  }
  EXPECT_EQ(places.size(), 4u);
  for (const auto& [place, count] : places) EXPECT_GT(count, 50) << place;
}

// So that the part of the story that the question is about tells the answer.
TEST(StoryQuestions, AnswerWithSlotsOfTheirPattern) {
  const std::regex slot("\\{(A|B|place|at|weather|thing|colour|animal|n|m)\\}");
  const auto check = [&](const auto& questions, const auto& patterns) {
    std::set<size_t> asked;
    for (const StoryQuestion& question : questions) {
      asked.insert(question.pattern);
      std::string pattern(patterns.at(question.pattern));
      if (pattern.find("{at}") != std::string::npos) pattern += "{place}";
      for (const std::string& each : groups(std::string(question.answer), slot))
        EXPECT_NE(pattern.find(each), std::string::npos) << question.answer << "\n" << pattern;
    }
    EXPECT_EQ(asked.size(), patterns.size());
  };
  check(kOpeningQuestions, kOpenings);
  check(kPlotQuestions, kPlots);
  check(kCountingQuestions, kCountings);
}

TEST(StoryFacts, AreAboutThingsOfTheStoriesAndDoNotContradictEachOther) {
  std::set<std::pair<FactKind, std::string_view>> seen;
  for (const StoryFact& fact : kFacts) {
    EXPECT_TRUE(seen.emplace(fact.kind, fact.subject).second) << fact.subject;
    if (fact.kind <= FactKind::Legs) {
      EXPECT_NE(std::ranges::find(kAnimals, fact.subject), kAnimals.end()) << fact.subject;
    }
    if (fact.kind == FactKind::Use) {
      EXPECT_NE(std::ranges::find(kThings, fact.subject), kThings.end()) << fact.subject;
    }
  }
}

}  // namespace
}  // namespace tessera
