// SPDX-License-Identifier: Apache-2.0
// What Unicode says of characters, from utf8proc: composed form, white space, parts of words, case.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// Normalization form C of valid UTF-8: `text` itself where nothing changes, else `composed`.
std::string_view compose(std::string_view text, std::string& composed);

bool is_white_space(uint32_t code);
bool is_word_character(uint32_t code);  // letters, marks, digits, and punctuation that connects
bool is_printable(uint32_t code);       // neither a control, nor unassigned, nor a separator

// One character for one: of the few that become several, such as the German sharp s, none.
uint32_t upper_case(uint32_t code);
uint32_t lower_case(uint32_t code);

}  // namespace tessera
