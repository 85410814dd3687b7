// SPDX-License-Identifier: Apache-2.0
// How GPT-2 writes bytes as text: each byte has its own printable character. Printable Latin-1
// stands for itself, the 68 other bytes for the characters from U+0100 on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera {

std::string to_byte_alphabet(std::string_view bytes);
// The bytes that a text stands for; nothing if a character is not one of the 256.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace tessera
