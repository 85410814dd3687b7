// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "core/utf8.h"

namespace tessera {
namespace {

constexpr uint32_t kFirstStandIn = 256;

constexpr bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<uint16_t, 256> of_byte{};
  std::array<int16_t, 256 + 68> byte_of{};  // -1: no byte
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.byte_of) byte = -1;
  uint32_t next = kFirstStandIn;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t code = stands_for_itself(byte) ? byte : next++;
    alphabet.of_byte[byte] = static_cast<uint16_t>(code);
    alphabet.byte_of[code] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, kAlphabet.of_byte[static_cast<unsigned char>(c)]);
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
    if (next.bytes == 0 || next.code >= kAlphabet.byte_of.size()) return std::nullopt;
    const int16_t byte = kAlphabet.byte_of[next.code];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    text.remove_prefix(next.bytes);
  }
  return bytes;
}

}  // namespace tessera
