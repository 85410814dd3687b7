// SPDX-License-Identifier: Apache-2.0
// Who, where and what of one story, and sentences of the grammar filled in with them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/random.h"
#include "data/stories/story_words.h"

namespace tessera {

// The random choices of one story or conversation, in the order they are made.
class StoryDraws {
 public:
  StoryDraws(uint64_t seed, std::string_view purpose, uint64_t index)
      : stream_(seed, purpose), next_(index * kMaxDraws) {}

  uint64_t below(uint64_t bound) { return stream_.below(next_++, bound); }
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  template <typename List>
  const auto& draw(const List& list) {
    return list[below(list.size())];
  }

 private:
  static constexpr uint64_t kMaxDraws = 1024;  // far above what a story can draw

  RandomStream stream_;
  uint64_t next_;
};

// Who, where and what: fixed for the whole story.
struct StoryCast {
  StoryPerson hero, friend_;
  StoryPlace place;
  StoryWeather weather;
  std::string_view thing, colour, animal;
  StoryCount counted;
  uint64_t n = 0, m = 0;
  uint64_t sum = 0;                 // of n and m, or their difference
  std::string_view subject, value;  // of a fact
};

StoryCast draw_cast(StoryDraws& draws);

// Appends a pattern of story_grammar.h with its choices made and its slots filled in.
void append_pattern(std::string_view pattern, const StoryCast& cast, StoryDraws& draws,
                    std::string& text);

}  // namespace tessera
