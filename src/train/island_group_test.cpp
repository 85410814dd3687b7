// SPDX-License-Identifier: Apache-2.0
#include "train/island_group.h"

#include <gtest/gtest.h>

#include <thread>

#include "islands/local_islands.h"
#include "train/islands_record.h"

namespace tessera {
namespace {

// Island 0 is ahead: whatever is asked for happens after the first step that nobody has left.
TEST(IslandGroup, AllStopAfterTheSameStep) {
  IslandGroup group(2);
  EXPECT_FALSE(group.agree(0, 7, {}).stop);
  EXPECT_FALSE(group.agree(1, 4, {.stop = true}).stop);
  for (int64_t step = 5; step < 8; ++step) EXPECT_FALSE(group.agree(1, step, {}).stop) << step;
  EXPECT_TRUE(group.agree(1, 8, {}).stop);
  EXPECT_TRUE(group.agree(0, 8, {}).stop);
}

TEST(IslandGroup, WhoIsAheadOfAllStopsAtOnce) {
  IslandGroup group(2);
  EXPECT_FALSE(group.agree(0, 3, {}).stop);
  EXPECT_TRUE(group.agree(1, 4, {.stop = true}).stop);
  EXPECT_TRUE(group.agree(0, 4, {}).stop);
}

TEST(IslandGroup, AllSaveAfterTheSameStepOnce) {
  IslandGroup group(2);
  EXPECT_FALSE(group.agree(0, 3, {}).save);
  EXPECT_FALSE(group.agree(1, 2, {.save = true}).save);
  EXPECT_FALSE(group.agree(1, 3, {}).save);
  EXPECT_TRUE(group.agree(1, 4, {}).save);
  EXPECT_TRUE(group.agree(0, 4, {}).save);
  EXPECT_FALSE(group.agree(0, 5, {}).save);
  EXPECT_FALSE(group.agree(1, 5, {}).save);
  EXPECT_TRUE(group.agree(0, 6, {.save = true}).save);  // the next request is another one
}

TEST(IslandGroup, TellsTheLeast) {
  IslandGroup group(3);
  std::vector<int64_t> heard(3);
  for (int round = 0; round < 3; ++round) {
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i)
        threads.emplace_back(
            [&, i] { heard[static_cast<size_t>(i)] = group.least(10 * round + 5 - i); });
    }
    EXPECT_EQ(heard, std::vector<int64_t>(3, 10 * round + 3));
  }
}

TEST(IslandGroup, WhoWaitsHearsThatAnotherFailed) {
  IslandGroup group(2);
  std::string heard;
  {
    const std::jthread waits([&] {
      try {
        group.meet();
      } catch (const IslandFailed& failed) {
        heard = failed.what();
      }
    });
    group.fail(1, "no room");
  }
  EXPECT_EQ(heard, "island 1 failed: no room");
  EXPECT_THROW(group.agree(0, 5, {}), IslandFailed);
}

TEST(IslandsRecord, AStepIsTheMeanOfLossesAndTheSumOfRates) {
  const StepRecord all = record_of_islands(
      {{.step = 4, .loss = 2, .tokens = 100, .tokens_per_second = 10, .step_seconds = 1},
       {.step = 4, .loss = 4, .tokens = 100, .tokens_per_second = 30, .step_seconds = 3}});
  EXPECT_EQ(all.step, 4);
  EXPECT_EQ(all.loss, 3);
  EXPECT_EQ(all.tokens, 200);
  EXPECT_EQ(all.tokens_per_second, 40);
  EXPECT_EQ(all.step_seconds, 3);
}

}  // namespace
}  // namespace tessera
