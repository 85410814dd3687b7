// SPDX-License-Identifier: Apache-2.0
// Short stories from a seeded grammar: English with people, places, things and small sums that are
// right. A story is a pure function of (seed, index), the same bytes on every machine, so that a
// run needs no download to be repeatable.
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

// Appends a page of sums ("3 + 4 = 7", a line each) of exactly `bytes` bytes, marker included, to
// fill the room that no story fits into. `bytes` is at least kMinSumsBytes.
inline constexpr int64_t kMinSumsBytes = 120;
void append_sums(uint64_t seed, uint64_t index, int64_t bytes, std::string& text);

}  // namespace tessera
