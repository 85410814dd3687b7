// SPDX-License-Identifier: Apache-2.0
// Compares two spellings of one word: "Interleaved1F1B" is interleaved_1f1b, "True" is true.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace tessera {

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
