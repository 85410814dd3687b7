// SPDX-License-Identifier: Apache-2.0
#include "data/stories/story_text.h"

#include <array>

#include "core/error.h"
#include "core/random.h"
#include "data/stories/story_grammar.h"
#include "data/stories/story_words.h"

namespace tessera {
namespace {

constexpr uint64_t kMaxDraws = 1024;  // far above what a story can draw

// The random choices of one story, in the order they are made.
class Draws {
 public:
  Draws(uint64_t seed, std::string_view purpose, uint64_t index)
      : stream_(seed, purpose), next_(index * kMaxDraws) {}

  uint64_t below(uint64_t bound) { return stream_.below(next_++, bound); }
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  template <typename List>
  const auto& draw(const List& list) {
    return list[below(list.size())];
  }

 private:
  RandomStream stream_;
  uint64_t next_;
};

// Who, where and what: fixed for the whole story.
struct Cast {
  StoryPerson hero, friend_;
  StoryPlace place;
  StoryWeather weather;
  std::string_view thing, colour, animal;
  StoryCount counted;
  uint64_t n = 0, m = 0;
};

Cast draw_cast(Draws& draws) {
  const uint64_t hero = draws.below(kPeople.size());
  const uint64_t other = (hero + draws.between(1, kPeople.size() - 1)) % kPeople.size();
  Cast cast;
  cast.hero = kPeople[hero];
  cast.friend_ = kPeople[other];
  cast.place = draws.draw(kPlaces);
  cast.weather = draws.draw(kWeather);
  cast.thing = draws.draw(kThings);
  cast.colour = draws.draw(kColours);
  cast.animal = draws.draw(kAnimals);
  cast.counted = draws.draw(kCounts);
  cast.m = draws.between(1, 5);
  cast.n = cast.m + draws.between(1, 5);
  return cast;
}

void append_count(uint64_t count, const StoryCount& noun, std::string& text) {
  text += std::to_string(count);
  text += ' ';
  text += count == 1 ? noun.one : noun.many;
}

void append_slot(std::string_view slot, const Cast& cast, std::string& text) {
  const bool girl = cast.hero.girl, b_girl = cast.friend_.girl;
  if (slot == "A")
    text += cast.hero.name;
  else if (slot == "B")
    text += cast.friend_.name;
  else if (slot == "he")
    text += girl ? "she" : "he";
  else if (slot == "He")
    text += girl ? "She" : "He";
  else if (slot == "him")
    text += girl ? "her" : "him";
  else if (slot == "his")
    text += girl ? "her" : "his";
  else if (slot == "His")
    text += girl ? "Her" : "His";
  else if (slot == "boy")
    text += girl ? "girl" : "boy";
  else if (slot == "b_he")
    text += b_girl ? "she" : "he";
  else if (slot == "b_him")
    text += b_girl ? "her" : "him";
  else if (slot == "place")
    text += cast.place.name;
  else if (slot == "at")
    text.append(cast.place.at).append(" the ").append(cast.place.name);
  else if (slot == "weather")
    text += cast.weather.adjective;
  else if (slot == "sky")
    text += cast.weather.sentence;
  else if (slot == "thing")
    text += cast.thing;
  else if (slot == "colour")
    text += cast.colour;
  else if (slot == "animal")
    text += cast.animal;
  else if (slot == "n")
    append_count(cast.n, cast.counted, text);
  else if (slot == "m")
    text += std::to_string(cast.m);
  else
    TESSERA_CHECK(false, "no slot {}", slot);
}

// The end of the choice that begins at `pattern[0] == '['`: the index of its `]`. Counts its
// alternatives.
size_t choice_end(std::string_view pattern, uint64_t& alternatives) {
  int depth = 0;
  alternatives = 1;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '[') ++depth;
    if (pattern[i] == '|' && depth == 1) ++alternatives;
    if (pattern[i] == ']' && --depth == 0) return i;
  }
  check_failed("a choice ends", __FILE__, __LINE__, std::string(pattern));
}

// The `wanted`-th of the alternatives of the choice, brackets not included.
std::string_view alternative(std::string_view inside, uint64_t wanted) {
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] == '[') ++depth;
    if (inside[i] == ']') --depth;
    if (inside[i] != '|' || depth > 0) continue;
    if (wanted-- == 0) return inside.substr(begin, i - begin);
    begin = i + 1;
  }
  return inside.substr(begin);
}

void expand(std::string_view pattern, const Cast& cast, Draws& draws, std::string& text) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{') {
      const size_t end = pattern.find('}', i);
      append_slot(pattern.substr(i + 1, end - i - 1), cast, text);
      i = end;
    } else if (pattern[i] == '[') {
      uint64_t alternatives = 0;
      const size_t length = choice_end(pattern.substr(i), alternatives);
      expand(alternative(pattern.substr(i + 1, length - 1), draws.below(alternatives)), cast, draws,
             text);
      i += length;
    } else {
      text += pattern[i];
    }
  }
}

}  // namespace

void append_story(uint64_t seed, uint64_t index, std::string& text) {
  Draws draws(seed, "story", index);
  const size_t begin = text.size();
  const Cast cast = draw_cast(draws);
  const uint64_t plot = draws.below(kPlots.size());
  expand(draws.draw(kOpenings), cast, draws, text);
  const uint64_t counting = draws.below(3);  // before the plot, after it, or none at all
  if (counting == 0) expand(draws.draw(kCountings), cast, draws, text);
  expand(kPlots[plot], cast, draws, text);
  const bool short_so_far = text.size() - begin < 300;
  if (counting == 1 || (counting == 2 && short_so_far))
    expand(draws.draw(kCountings), cast, draws, text);
  expand(draws.draw(kEndings), cast, draws, text);
  text += kStoryEnd;
  const auto bytes = static_cast<int64_t>(text.size() - begin);
  TESSERA_CHECK(bytes >= kMinStoryBytes && bytes <= kMaxStoryBytes, "story {} has {} bytes", index,
                bytes);
}

// "Good night, Mia." takes 17 bytes with its newline, and one more for a name of four letters.
void append_good_nights(uint64_t seed, uint64_t index, int64_t bytes, std::string& text) {
  constexpr int64_t kLineBytes = 17;
  Draws draws(seed, "good_nights", index);
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
