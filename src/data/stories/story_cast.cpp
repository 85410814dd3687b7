// SPDX-License-Identifier: Apache-2.0
#include "data/stories/story_cast.h"

#include <fmt/format.h>

#include "core/error.h"

namespace tessera {
namespace {

void append_count(uint64_t count, const StoryCount& noun, std::string& text) {
  text += std::to_string(count);
  text += ' ';
  text += count == 1 ? noun.one : noun.many;
}

void append_slot(std::string_view slot, const StoryCast& cast, std::string& text) {
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
  else if (slot == "m" || slot == "y")
    text += std::to_string(cast.m);
  else if (slot == "x")
    text += std::to_string(cast.n);
  else if (slot == "sum")
    text += std::to_string(cast.sum);
  else if (slot == "total")
    append_count(cast.sum, cast.counted, text);
  else if (slot == "many")
    text += cast.counted.many;
  else if (slot == "subject")
    text += cast.subject;
  else if (slot == "value")
    text += cast.value;
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

}  // namespace

StoryCast draw_cast(StoryDraws& draws) {
  const uint64_t hero = draws.below(kPeople.size());
  const uint64_t other = (hero + draws.between(1, kPeople.size() - 1)) % kPeople.size();
  StoryCast cast;
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

void append_pattern(std::string_view pattern, const StoryCast& cast, StoryDraws& draws,
                    std::string& text) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{') {
      const size_t end = pattern.find('}', i);
      append_slot(pattern.substr(i + 1, end - i - 1), cast, text);
      i = end;
    } else if (pattern[i] == '[') {
      uint64_t alternatives = 0;
      const size_t length = choice_end(pattern.substr(i), alternatives);
      append_pattern(alternative(pattern.substr(i + 1, length - 1), draws.below(alternatives)),
                     cast, draws, text);
      i += length;
    } else {
      text += pattern[i];
    }
  }
}

}  // namespace tessera
