// SPDX-License-Identifier: Apache-2.0
#include "train/data/story_text.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(hash_text(text), 14001384645302000010u);
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

// Every kind of sentence in which something is added or taken away, as first, second and result.
struct SumSentence {
  std::regex regex;
  int sign;
};
const std::vector<SumSentence>& sum_sentences() {
  static const std::vector<SumSentence> sentences{
      {std::regex("had (\\d+) \\w+\\. \\w+ gave \\w+ (\\d+) more\\. Now \\w+ had (\\d+)"), 1},
      {std::regex("had (\\d+) \\w+\\. \\w+ gave (\\d+) to \\w+\\. Then \\w+ had (\\d+)"), -1},
      {std::regex("found (\\d+) \\w+ and \\w+ found (\\d+)\\. Together they had (\\d+)"), 1},
      {std::regex("were (\\d+) [^.]*\\. \\w+ put (\\d+) more [^.]*\\. Now there were (\\d+)"), 1},
      {std::regex("were (\\d+) [^.]*\\. \\w+ took out (\\d+)\\. Now there were (\\d+)"), -1},
      {std::regex("I have (\\d+) [^.]*\\. .And I have (\\d+),[^.]*\\. .So we have (\\d+)"), 1},
      {std::regex("saw (\\d+) \\w+ by the door and (\\d+) by the wall\\. .That makes (\\d+)"), 1}};
  return sentences;
}

TEST(StoryText, AddsAndSubtractsRight) {
  std::vector<int> seen(sum_sentences().size());
  const std::regex counted("\\b(\\d+) ([a-z]+) (left|in it)");
  for (uint64_t index = 0; index < 300; ++index) {
    const std::string text = story(5, index);
    for (size_t kind = 0; kind < seen.size(); ++kind) {
      const auto& [regex, sign] = sum_sentences()[kind];
      for (const auto& m : matches(text, regex)) {
        ASSERT_EQ(std::stoi(m[1]) + sign * std::stoi(m[2]), std::stoi(m[3])) << text;
        ++seen[kind];
      }
    }
    for (const auto& m : matches(text, counted)) ASSERT_EQ(m[1] == "1", m[2].back() != 's') << text;
  }
  for (size_t kind = 0; kind < seen.size(); ++kind) EXPECT_GT(seen[kind], 10) << kind;
}

TEST(StorySums, FillAnyRoomExactlyWithRightSums) {
  const std::regex sum("(\\d) \\+ (\\d) = (\\d+)\\n");
  for (int64_t bytes = kMinSumsBytes; bytes < 1200; ++bytes) {
    std::string text;
    append_sums(1, static_cast<uint64_t>(bytes), bytes, text);
    ASSERT_EQ(static_cast<int64_t>(text.size()), bytes);
    ASSERT_TRUE(text.starts_with("Sums:\n") && text.ends_with(kStoryEnd)) << text;
    const auto lines = matches(text, sum);
    ASSERT_EQ(static_cast<int64_t>(lines.size()), std::count(text.begin(), text.end(), '='))
        << text;
    for (const auto& m : lines)
      ASSERT_EQ(std::stoi(m[1]) + std::stoi(m[2]), std::stoi(m[3])) << text;
  }
}

}  // namespace
}  // namespace tessera
