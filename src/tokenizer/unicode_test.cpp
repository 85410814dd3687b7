// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::string composed(std::string_view text) {
  std::string store;
  return std::string(compose(text, store));
}

TEST(Unicode, Composes) {
  EXPECT_EQ(composed("plain text, é"), "plain text, é");
  EXPECT_EQ(composed("xe\xCC\x81y"), "xéy");
  EXPECT_EQ(composed("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"), "한");
  EXPECT_EQ(composed("\xE2\x84\xAB"), "Å");  // the ångström sign is a letter
  // Marks are put in order: a dot below comes before a circumflex.
  EXPECT_EQ(composed("e\xCC\x82\xCC\xA3 e\xCC\xA3\xCC\x82"), "ệ ệ");
  // Excluded from composition.
  EXPECT_EQ(composed("\xE0\xA5\x98"), "\xE0\xA4\x95\xE0\xA4\xBC");
}

TEST(Unicode, ComposesAStretchAsIfItStoodAlone) {
  EXPECT_EQ(composed("ae\xCC\x81 u\xCC\x88 o"), "aé ü o");
  EXPECT_EQ(composed("\xCC\x81"
                     "e\xCC\x81"),
            "\xCC\x81"
            "é");
}

TEST(Unicode, KnowsWhiteSpace) {
  for (const uint32_t code : {0x9u, 0x20u, 0x85u, 0xA0u, 0x2028u, 0x3000u})
    EXPECT_TRUE(is_white_space(code)) << code;
  for (const uint32_t code : {0x0u, 0x200Bu, 0x180Eu, 0x41u})
    EXPECT_FALSE(is_white_space(code)) << code;
}

}  // namespace
}  // namespace tessera
