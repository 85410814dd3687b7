// SPDX-License-Identifier: Apache-2.0
#include "exec/rank_times.h"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

TEST(StepTimes, AddsUpToTheTimeOfTheRankThatEndsLast) {
  const std::array<RankTimes, 2> ranks{
      {{.run_seconds = 8, .exposed_communication_seconds = 1, .bubble_seconds = 2},
       {.run_seconds = 10, .exposed_communication_seconds = 3, .bubble_seconds = 0}}};
  const StepTimes split = mean_times(ranks);
  EXPECT_DOUBLE_EQ(split.compute_seconds, (5 + 7) / 2.0);
  EXPECT_DOUBLE_EQ(split.exposed_communication_seconds, 2);
  EXPECT_DOUBLE_EQ(split.bubble_seconds, (2 + 2 + 0) / 2.0);  // the first waits for the second
  EXPECT_DOUBLE_EQ(split.program_seconds(), 10);
}

TEST(RankSpread, NamesTheRankWithTheMostWorkOfItsOwn) {
  const std::array<RankTimes, 3> ranks{
      {{.run_seconds = 10, .exposed_communication_seconds = 7, .bubble_seconds = 1},
       {.run_seconds = 10, .exposed_communication_seconds = 1, .bubble_seconds = 0},
       {.run_seconds = 10, .exposed_communication_seconds = 0, .bubble_seconds = 6}}};
  const RankSpread spread = spread_of(ranks);
  EXPECT_EQ(spread.slowest_rank, 1);
  EXPECT_DOUBLE_EQ(spread.slowest_seconds, 9);
  EXPECT_DOUBLE_EQ(spread.fastest_seconds, 2);
}

}  // namespace
}  // namespace tessera
