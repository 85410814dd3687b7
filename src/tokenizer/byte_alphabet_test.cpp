// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ByteAlphabet, WritesBytesAsGpt2Does) {
  EXPECT_EQ(to_byte_alphabet(" Hi\n\t"), "ĠHiĊĉ");
  EXPECT_EQ(to_byte_alphabet(std::string("\0\xFF\xAD\x7F", 4)), "ĀÿŃġ");
}

TEST(ByteAlphabet, ReadsBackEveryByte) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(from_byte_alphabet(to_byte_alphabet(text)), text);
  }
}

TEST(ByteAlphabet, KnowsNoOtherCharacter) {
  EXPECT_EQ(from_byte_alphabet("a b"), std::nullopt);
  EXPECT_EQ(from_byte_alphabet("狐"), std::nullopt);
}

}  // namespace
}  // namespace tessera
