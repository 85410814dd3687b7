// SPDX-License-Identifier: Apache-2.0
// Short stories from a seeded grammar: English with people, places and things. A story is a pure
// function of (seed, index), the same bytes on every machine, so that a run needs no download to be
// repeatable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/stories/story_cast.h"

namespace tessera {

inline constexpr std::string_view kStoryEnd = "\n***\n";
inline constexpr int64_t kMinStoryBytes = 300;  // kStoryEnd included
inline constexpr int64_t kMaxStoryBytes = 900;

// A slot of the grammar that the story's plot or opening is to have; empty: any.
struct StoryWish {
  std::string_view plot_slot = {}, opening_slot = {};
};

// A story and what it was made of: indices into the lists of story_grammar.h.
struct ToldStory {
  StoryCast cast;
  std::string text;     // without the end marker
  size_t plot_end = 0;  // where its last sentence, kEndings, begins, and the blank before it
  size_t opening = 0, plot = 0;
  std::optional<size_t> counting;
};

ToldStory tell_story(const StoryCast& cast, const StoryWish& wish, StoryDraws& draws);

// Appends one story with its end marker, of kMinStoryBytes to kMaxStoryBytes.
void append_story(uint64_t seed, uint64_t index, std::string& text);

// Appends good nights ("Good night, Mia.", a line each) of exactly `bytes` bytes, marker included,
// to fill the space into which no story fits. `bytes` is at least kMinGoodNightsBytes.
inline constexpr int64_t kMinGoodNightsBytes = 300;
void append_good_nights(uint64_t seed, uint64_t index, int64_t bytes, std::string& text);

}  // namespace tessera
