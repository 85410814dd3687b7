// SPDX-License-Identifier: Apache-2.0
#include "core/utf8_stream.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

std::vector<std::string> told(const std::vector<std::string>& pieces) {
  Utf8Stream stream;
  std::vector<std::string> texts;
  for (const std::string& piece : pieces) texts.push_back(stream.add(piece));
  texts.push_back(stream.rest());
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Utf8Stream, GivesACharacterWithTheLastOfItsBytes) {
  EXPECT_EQ(told({"a\xc3", "\xa4z"}), (Texts{"a", "\xc3\xa4z", ""}));
  EXPECT_EQ(told({"\xf0", "\x9f\x99", "\x82"}), (Texts{"", "", "\xf0\x9f\x99\x82", ""}));
}

TEST(Utf8Stream, ReplacesWhatIsNoCharacter) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(told({"\xff"}), (Texts{mark, ""}));
  EXPECT_EQ(told({"\xc3", "a"}), (Texts{"", mark + "a", ""}));
  EXPECT_EQ(told({"a\xe2\x82"}), (Texts{"a", mark + mark}));
}

}  // namespace
}  // namespace tessera
