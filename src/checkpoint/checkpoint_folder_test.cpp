// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_folder.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Steps = std::vector<int64_t>;

TEST(OwnCheckpoints, OfANewRunGoWhenNewerOnesAreWritten) {
  OwnCheckpoints own;
  for (const int64_t step : {10, 20, 30}) own.wrote(step);
  EXPECT_EQ(own.prunable({.keep = 2}), Steps{10});
  EXPECT_EQ(own.prunable({.keep = 1, .keep_every = 20}), Steps{10});
  EXPECT_EQ(own.prunable({.keep = 3}), Steps{});
}

TEST(OwnCheckpoints, ThatWereOnlyFoundGoButDoNotCountAsKept) {
  OwnCheckpoints own;
  own.continue_from(30, {10, 20, 30});
  EXPECT_EQ(own.prunable({.keep = 2}), Steps{});
  own.wrote(40);
  EXPECT_EQ(own.prunable({.keep = 2}), (Steps{10, 20}));
}

TEST(OwnCheckpoints, AboveTheOneGoneOnFromAreAnotherHistory) {
  OwnCheckpoints own;
  own.continue_from(50, {50, 100});
  EXPECT_FALSE(own.has(100));
  for (const int64_t step : {60, 70}) own.wrote(step);
  EXPECT_EQ(own.prunable({.keep = 1, .keep_every = 50}), Steps{60});
  own.continue_from(60, {50, 60, 70});  // 70 is corrupt
  own.wrote(65);
  EXPECT_EQ(own.prunable({.keep = 2}), Steps{50});
}

TEST(OwnCheckpoints, OfOthersAreCountedOnceLoadedAndNeverGo) {
  OwnCheckpoints own;
  own.continue_from(0, {});
  for (const int64_t step : {10, 20, 30}) own.wrote(step);
  EXPECT_EQ(own.prunable({.keep = 1}), (Steps{10, 20}));
}

TEST(OwnCheckpoints, ThatDoNotVerifyDoNotCount) {
  OwnCheckpoints own;
  for (const int64_t step : {10, 20, 30}) own.wrote(step);
  own.does_not_verify(30);
  EXPECT_EQ(own.prunable({.keep = 2}), Steps{});
}

}  // namespace
}  // namespace tessera
