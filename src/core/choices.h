// SPDX-License-Identifier: Apache-2.0
// Names that a user chooses from: how error messages list them ("1, 2 or 4"), which is nearest to a
// mistyped one, and when two spellings are one word.
#pragma once

#include <cctype>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

std::string join_choices(std::span<const std::string> choices);
std::string join_choices(std::span<const int64_t> choices);

// Finds the known name nearest to a mistyped one, for "did you mean ...?".
// Empty when no known name is near. The distance counts letters added, dropped or changed, and
// adjacent letters swapped.
std::string nearest_name(std::string_view text, std::span<const std::string> known);

// Whether two spellings are one word: "Interleaved1F1B" is interleaved_1f1b, "True" is true.
// The same letters and digits: case, '_' and '-' do not count.
inline bool same_word(std::string_view a, std::string_view b) {
  const auto plain = [](std::string_view word) {
    std::string letters;
    for (const char letter : word)
      if (letter != '_' && letter != '-')
        letters += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return letters;
  };
  return plain(a) == plain(b);
}

}  // namespace tessera
