// SPDX-License-Identifier: Apache-2.0
#include "inference/stop_text.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Text as it is shown, when it comes in these pieces.
std::string shown(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopText text(std::move(stops));
  std::string all;
  for (const std::string& piece : pieces) all += text.add(piece);
  return all + text.rest();
}

TEST(StopTextTest, EndsBeforeAStringThatComesInPieces) {
  EXPECT_EQ(shown({"END"}, {"one E", "N", "D two"}), "one ");
  EXPECT_EQ(shown({"\n\n"}, {"a\n", "b\n", "\nc"}), "a\nb");
}

TEST(StopTextTest, ShowsWhatOnlyBeganLikeOne) {
  EXPECT_EQ(shown({"END"}, {"EN", "EEN", "d"}), "ENEENd");
  EXPECT_EQ(shown({"END"}, {"the EN"}), "the EN");
}

TEST(StopTextTest, TakesTheFirstOfSeveral) {
  EXPECT_EQ(shown({"two", "one"}, {"zero one two"}), "zero ");
}

TEST(StopTextTest, HoldsBackNoMoreThanMayBeginOne) {
  StopText text({"</s>"});
  EXPECT_EQ(text.add("a <"), "a ");
  EXPECT_EQ(text.add("b"), "<b");
  EXPECT_FALSE(text.stopped());
  EXPECT_EQ(text.add("</s> c"), "");
  EXPECT_TRUE(text.stopped());
  EXPECT_EQ(text.add("d"), "");
}

}  // namespace
}  // namespace tessera
