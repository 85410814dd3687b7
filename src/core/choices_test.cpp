// SPDX-License-Identifier: Apache-2.0
#include "core/choices.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(JoinChoices, TheLastChoiceStandsBehindOr) {
  EXPECT_EQ(join_choices(std::vector<int64_t>{}), "");
  EXPECT_EQ(join_choices(std::vector<int64_t>{1}), "1");
  EXPECT_EQ(join_choices(std::vector<int64_t>{1, 2}), "1 or 2");
  EXPECT_EQ(join_choices(std::vector<std::string>{"a", "b", "c"}), "a, b or c");
}

}  // namespace

namespace {

const std::vector<std::string> kKnown{"train.steps", "train.seed", "train.batch", "data.path"};

TEST(NearestName, ForgivesSwappedDroppedAndChangedLetters) {
  EXPECT_EQ(nearest_name("train.stesp", kKnown), "train.steps");
  EXPECT_EQ(nearest_name("train.step", kKnown), "train.steps");
  EXPECT_EQ(nearest_name("tran.batch", kKnown), "train.batch");
  EXPECT_EQ(nearest_name("data.bath", kKnown), "data.path");
}

TEST(NearestName, CountsASwapOfNeighboursAsOneChange) {
  EXPECT_EQ(nearest_name("sede", std::vector<std::string>{"seed"}), "seed");
}

TEST(NearestName, GivesNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("optimizer", kKnown), "");
  EXPECT_EQ(nearest_name(std::string(5000, 'x'), kKnown), "");
}

}  // namespace

}  // namespace tessera
