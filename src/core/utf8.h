// SPDX-License-Identifier: Apache-2.0
// UTF-8, one character at a time: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

struct Utf8Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: the text does not begin with a valid character
};

Utf8Character first_character(std::string_view text);
Utf8Character last_character(std::string_view text);

// Bytes at the begin of a text that are valid UTF-8, and bytes there that are not.
size_t valid_prefix(std::string_view text);
size_t invalid_prefix(std::string_view text);

void append_utf8(std::string& text, uint32_t code);

}  // namespace tessera
