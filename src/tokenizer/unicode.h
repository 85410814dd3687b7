// SPDX-License-Identifier: Apache-2.0
// What Unicode says of characters, from utf8proc: composed form, white space, parts of words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// Normalization form C of valid UTF-8: `text` itself where nothing changes, else `composed`.
std::string_view compose(std::string_view text, std::string& composed);

bool is_white_space(uint32_t code);
bool is_word_character(uint32_t code);  // letters, marks, digits, and punctuation that connects

}  // namespace tessera
