// SPDX-License-Identifier: Apache-2.0
#include "data/stories/story_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <vector>

#include "core/random.h"

namespace tessera {
namespace {

std::string story(uint64_t seed, uint64_t index) {
  std::string text;
  append_story(seed, index, text);
  return text;
}

// All places where `pattern` occurs, as its groups.
std::vector<std::vector<std::string>> matches(const std::string& text, const std::regex& regex) {
  std::vector<std::vector<std::string>> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), regex);
       it != std::sregex_iterator(); ++it)
    found.emplace_back(it->begin(), it->end());
  return found;
}

// The bytes are part of what users compare: a change here changes the losses of every demo run.
TEST(StoryText, IsTheSameBytesOnEveryMachine) {
  std::string text;
  for (uint64_t index = 0; index < 1000; ++index) append_story(1, index, text);
  EXPECT_EQ(hash_text(text), 7972098467402810406u);
  EXPECT_EQ(
      story(1, 2),
      "There was once a kind girl called Clara, who had a friend named Tom. The rain fell softly "
      "on "
      "the roofs. On the path, Clara found a little fox. It was cold. \"Do not be afraid, little "
      "fox,\" she said softly. Clara gave it some water and stayed with it. After a while the fox "
      "was well again. Tom laughed and said, \"Now it is your friend.\" The fox went home with "
      "Clara. Clara and Tom smiled all the way home.\n***\n");
}

TEST(StoryText, DiffersBySeedAndIndex) {
  std::set<std::string> stories;
  for (uint64_t index = 0; index < 500; ++index) {
    stories.insert(story(1, index));
    stories.insert(story(2, index));
  }
  EXPECT_EQ(stories.size(), 1000u);
}

TEST(StoryText, StaysWithinItsSizeAndEndsWithTheMarker) {
  size_t least = 10000, most = 0;
  for (uint64_t index = 0; index < 20'000; ++index) {
    const std::string text = story(7, index);
    least = std::min(least, text.size());
    most = std::max(most, text.size());
    ASSERT_TRUE(text.ends_with(kStoryEnd));
    ASSERT_EQ(text.find(kStoryEnd), text.size() - kStoryEnd.size());
  }
  EXPECT_GE(static_cast<int64_t>(least), kMinStoryBytes);
  EXPECT_LE(static_cast<int64_t>(most), kMaxStoryBytes);
}

TEST(StoryText, LeavesNoGrammarSignsAndNoStrayBlanks) {
  const std::regex wrong_article("\\b[Aa] [aeiou]"), small_after_stop("[.!?] [a-z]");
  for (uint64_t index = 0; index < 1000; ++index) {
    const std::string text = story(3, index);
    ASSERT_EQ(text.find_first_of("[]{}|_"), std::string::npos) << text;
    ASSERT_EQ(text.find("  "), std::string::npos) << text;
    ASSERT_EQ(text.find(" \n"), std::string::npos) << text;
    ASSERT_TRUE(matches(text, wrong_article).empty()) << text;
    ASSERT_TRUE(matches(text, small_after_stop).empty()) << text;
  }
}

TEST(StoryText, ClosesEveryQuote) {
  for (uint64_t index = 0; index < 1000; ++index) {
    const std::string text = story(4, index);
    ASSERT_EQ(std::count(text.begin(), text.end(), '"') % 2, 0) << text;
  }
}

TEST(StoryText, CountsThingsAndAddsNothingUp) {
  const std::regex counted("\\b(\\d+) ([a-z]+)\\b"),
      sum("\\+|=|[Tt]ogether they had|makes|left\\b");
  int seen = 0;
  for (uint64_t index = 0; index < 300; ++index) {
    const std::string text = story(5, index);
    ASSERT_TRUE(matches(text, sum).empty()) << text;
    for (const auto& m : matches(text, counted)) {
      ++seen;
      if (m[2] != "more" && m[2] != "of" && m[2] != "by" && m[2] != "and") {
        ASSERT_EQ(m[1] == "1", m[2].back() != 's') << text;
      }
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(GoodNights, FillAnyRoomExactly) {
  const std::regex line("Good night, [A-Z][a-z]+\\.\\n");
  for (int64_t bytes = kMinGoodNightsBytes; bytes < 1300; ++bytes) {
    std::string text;
    append_good_nights(1, static_cast<uint64_t>(bytes), bytes, text);
    ASSERT_EQ(static_cast<int64_t>(text.size()), bytes);
    ASSERT_TRUE(text.ends_with(kStoryEnd)) << text;
    ASSERT_EQ(static_cast<int64_t>(matches(text, line).size()),
              std::count(text.begin(), text.end(), '.'))
        << text;
  }
}

}  // namespace
}  // namespace tessera
