// SPDX-License-Identifier: Apache-2.0
#include "data/stories/story_text.h"

#include <fmt/format.h>

#include <vector>

#include "core/error.h"
#include "data/stories/story_grammar.h"

namespace tessera {
namespace {

bool has_slot(std::string_view pattern, std::string_view slot) {
  return pattern.find(fmt::format("{{{}}}", slot)) != std::string_view::npos;
}

// One of the patterns; where `slot` is given, one of those that have it.
template <typename List>
size_t draw_pattern(const List& patterns, std::string_view slot, StoryDraws& draws) {
  if (slot.empty()) return draws.below(patterns.size());
  std::vector<size_t> suitable;
  for (size_t i = 0; i < patterns.size(); ++i)
    if (has_slot(patterns[i], slot)) suitable.push_back(i);
  TESSERA_CHECK(!suitable.empty(), "no pattern has {}", slot);
  return draws.draw(suitable);
}

}  // namespace

ToldStory tell_story(const StoryCast& cast, const StoryWish& wish, StoryDraws& draws) {
  ToldStory story;
  story.cast = cast;
  story.plot = draw_pattern(kPlots, wish.plot_slot, draws);
  story.opening = draw_pattern(kOpenings, wish.opening_slot, draws);
  append_pattern(kOpenings[story.opening], cast, draws, story.text);
  const auto count = [&] {
    story.counting = draws.below(kCountings.size());
    append_pattern(kCountings[*story.counting], cast, draws, story.text);
  };
  const uint64_t counting = draws.below(3);  // before the plot, after it, or none at all
  if (counting == 0) count();
  append_pattern(kPlots[story.plot], cast, draws, story.text);
  const bool short_so_far = story.text.size() < 300;
  if (counting == 1 || (counting == 2 && short_so_far)) count();
  story.plot_end = story.text.size() - 1;  // without the blank after it
  append_pattern(draws.draw(kEndings), cast, draws, story.text);
  return story;
}

void append_story(uint64_t seed, uint64_t index, std::string& text) {
  StoryDraws draws(seed, "story", index);
  const StoryCast cast = draw_cast(draws);
  const std::string story = tell_story(cast, {}, draws).text;
  text.append(story).append(kStoryEnd);
  const auto bytes = static_cast<int64_t>(story.size() + kStoryEnd.size());
  TESSERA_CHECK(bytes >= kMinStoryBytes && bytes <= kMaxStoryBytes, "story {} has {} bytes", index,
                bytes);
}

// "Good night, Mia." takes 17 bytes with its newline, and one more for a name of four letters.
void append_good_nights(uint64_t seed, uint64_t index, int64_t bytes, std::string& text) {
  constexpr int64_t kLineBytes = 17;
  StoryDraws draws(seed, "good_nights", index);
  // The newline of the last line is the marker's first byte.
  int64_t left = bytes - static_cast<int64_t>(kStoryEnd.size()) + 1;
  while (left > 0) {
    const int64_t lines = left / kLineBytes, long_lines = left % kLineBytes;
    TESSERA_CHECK(lines >= long_lines, "no lines of 17 and 18 bytes fill {}", left);
    const bool is_long =
        static_cast<int64_t>(draws.below(static_cast<uint64_t>(lines))) < long_lines;
    const size_t letters = is_long ? 4 : 3;
    std::string_view name;
    while (name.size() != letters) name = draws.draw(kPeople).name;
    text += fmt::format("Good night, {}.\n", name);
    left -= kLineBytes + (is_long ? 1 : 0);
  }
  text.pop_back();
  text += kStoryEnd;
}

}  // namespace tessera
