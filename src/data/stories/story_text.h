// SPDX-License-Identifier: Apache-2.0
// Short stories from a seeded grammar: English with people, places and things. A story is a pure
// function of (seed, index), the same bytes on every machine, so that a run needs no download to be
// repeatable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

inline constexpr std::string_view kStoryEnd = "\n***\n";
inline constexpr int64_t kMinStoryBytes = 300;  // kStoryEnd included
inline constexpr int64_t kMaxStoryBytes = 900;

// Appends one story with its end marker, of kMinStoryBytes to kMaxStoryBytes.
void append_story(uint64_t seed, uint64_t index, std::string& text);

// Appends good nights ("Good night, Mia.", a line each) of exactly `bytes` bytes, marker included,
// to fill the space into which no story fits. `bytes` is at least kMinGoodNightsBytes.
inline constexpr int64_t kMinGoodNightsBytes = 300;
void append_good_nights(uint64_t seed, uint64_t index, int64_t bytes, std::string& text);

}  // namespace tessera
