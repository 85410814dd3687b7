// SPDX-License-Identifier: Apache-2.0
#include "data/stories/story_source.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "data/stories/story_text.h"

namespace tessera {
namespace {

std::string text_of(const TokenSource& source, int64_t begin, int64_t count,
                    std::string* opens = nullptr) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::vector<uint8_t> opens_document(tokens.size(), 9);
  source.read(begin, tokens, opens_document);
  std::string text(tokens.begin(), tokens.end());
  if (opens != nullptr) opens->assign(opens_document.begin(), opens_document.end());
  return text;
}

TEST(StorySource, RoundsUpToWholePages) {
  EXPECT_EQ(StorySource(1, 1).num_tokens(), StorySource::kPageBytes);
  EXPECT_EQ(StorySource(1, StorySource::kPageBytes + 1).num_tokens(), 2 * StorySource::kPageBytes);
}

TEST(StorySource, ReadsTheSameTextInAnyPieces) {
  const StorySource source(1, 4 * StorySource::kPageBytes);
  std::string opens;
  const std::string whole = text_of(source, 0, source.num_tokens(), &opens);
  for (int64_t begin = 0, size = 1; begin < source.num_tokens();
       begin += size, size = size * 3 % 4001 + 1) {
    size = std::min(size, source.num_tokens() - begin);
    std::string piece_opens;
    const std::string piece = text_of(source, begin, size, &piece_opens);
    ASSERT_EQ(piece, whole.substr(static_cast<size_t>(begin), static_cast<size_t>(size)));
    ASSERT_EQ(piece_opens, opens.substr(static_cast<size_t>(begin), static_cast<size_t>(size)));
  }
}

TEST(StorySource, OpensADocumentAfterEveryEndMarkerAndNowhereElse) {
  const StorySource source(1, 3 * StorySource::kPageBytes);
  std::string opens;
  const std::string text = text_of(source, 0, source.num_tokens(), &opens);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool expected = i == 0 || text.substr(0, i).ends_with(kStoryEnd);
    ASSERT_EQ(opens[i] == 1, expected) << i;
  }
}

TEST(StorySource, EndsEveryPageWithAWholeDocument) {
  const StorySource source(9, 20 * StorySource::kPageBytes);
  for (int64_t end = StorySource::kPageBytes; end <= source.num_tokens();
       end += StorySource::kPageBytes)
    EXPECT_EQ(text_of(source, end - 5, 5), kStoryEnd);
}

TEST(StorySource, RepeatsNoStory) {
  const StorySource source(1, 8 * StorySource::kPageBytes);
  const std::string text = text_of(source, 0, source.num_tokens());
  std::set<std::string> stories;
  size_t count = 0;
  for (size_t begin = 0, end; (end = text.find(kStoryEnd, begin)) != std::string::npos;
       begin = end + 5) {
    stories.insert(text.substr(begin, end - begin));
    ++count;
  }
  EXPECT_GT(count, 200u);
  EXPECT_EQ(stories.size(), count);
}

TEST(StorySource, ReadsFarIntoATerabyteWithoutMakingWhatLiesBefore) {
  const StorySource source(1, int64_t{1} << 40);
  EXPECT_EQ(text_of(source, source.num_tokens() - 5, 5), kStoryEnd);
}

}  // namespace
}  // namespace tessera
