// SPDX-License-Identifier: Apache-2.0
#include "train/learning_rate.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TrainConfig settings(RateSchedule schedule) {
  TrainConfig train;
  train.steps = 110;
  train.warmup_steps = 10;
  train.learning_rate = 2;
  train.min_learning_rate = 0.1;
  train.schedule = schedule;
  train.decay_fraction = 0.5;
  return train;
}

TEST(LearningRate, RisesLinearlyToThePeakAndIsNeverZero) {
  for (const RateSchedule schedule :
       {RateSchedule::Cosine, RateSchedule::Linear, RateSchedule::Wsd, RateSchedule::Constant}) {
    EXPECT_DOUBLE_EQ(learning_rate_at(settings(schedule), 0), 0.2) << static_cast<int>(schedule);
    EXPECT_DOUBLE_EQ(learning_rate_at(settings(schedule), 9), 2) << static_cast<int>(schedule);
    EXPECT_DOUBLE_EQ(learning_rate_at(settings(schedule), 10), 2) << static_cast<int>(schedule);
  }
}

TEST(LearningRate, CosineIsHalfWayAtTheMiddleAndEndsAtTheMinimum) {
  EXPECT_DOUBLE_EQ(learning_rate_at(settings(RateSchedule::Cosine), 60), 2 * (0.1 + 0.9 * 0.5));
  EXPECT_NEAR(learning_rate_at(settings(RateSchedule::Cosine), 35), 2 * (0.1 + 0.9 * 0.8535533906),
              1e-9);
  EXPECT_NEAR(learning_rate_at(settings(RateSchedule::Cosine), 110), 0.2, 1e-12);
}

TEST(LearningRate, LinearFallsByEqualAmounts) {
  EXPECT_DOUBLE_EQ(learning_rate_at(settings(RateSchedule::Linear), 35), 2 * (0.1 + 0.9 * 0.75));
  EXPECT_DOUBLE_EQ(learning_rate_at(settings(RateSchedule::Linear), 60), 2 * (0.1 + 0.9 * 0.5));
  EXPECT_DOUBLE_EQ(learning_rate_at(settings(RateSchedule::Linear), 500), 0.2);
}

TEST(LearningRate, WsdStaysAtThePeakUntilTheLastShareOfSteps) {
  EXPECT_DOUBLE_EQ(learning_rate_at(settings(RateSchedule::Wsd), 55), 2);
  EXPECT_NEAR(learning_rate_at(settings(RateSchedule::Wsd), 66), 2 * (0.1 + 0.9 * 0.8), 1e-12);
  EXPECT_NEAR(learning_rate_at(settings(RateSchedule::Wsd), 110), 0.2, 1e-12);
}

TEST(LearningRate, ConstantStaysAtThePeak) {
  EXPECT_DOUBLE_EQ(learning_rate_at(settings(RateSchedule::Constant), 109), 2);
}

TEST(LearningRate, NeedsNoWarmup) {
  TrainConfig train = settings(RateSchedule::Linear);
  train.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate_at(train, 0), 2);
}

TEST(LearningRate, HasAWarmupLongerThanTheRun) {
  TrainConfig train = settings(RateSchedule::Wsd);
  train.steps = 5;
  EXPECT_DOUBLE_EQ(learning_rate_at(train, 4), 1);
}

// 110 steps of which the last 55 are to decay, and a warm-up of 90.
TEST(LearningRate, OfWsdDecaysFromThePeakWhereTheWarmupReachesIntoTheDecay) {
  TrainConfig train = settings(RateSchedule::Wsd);
  train.warmup_steps = 90;
  EXPECT_DOUBLE_EQ(learning_rate_at(train, 89), 2);
  EXPECT_DOUBLE_EQ(learning_rate_at(train, 90), 2);
  EXPECT_DOUBLE_EQ(learning_rate_at(train, 100), 2 * (0.1 + 0.9 * 0.5));
  EXPECT_DOUBLE_EQ(learning_rate_at(train, 110), 0.2);
}

TEST(LearningRate, IsNotedToStayLowWhereTheWarmupIsLongerThanTheRun) {
  TrainConfig train = settings(RateSchedule::Cosine);
  EXPECT_EQ(warmup_note(train), "");
  train.steps = train.warmup_steps;
  EXPECT_EQ(warmup_note(train), "");
  train.steps = 5;
  EXPECT_EQ(
      warmup_note(train),
      "note: train.warmup_steps (10) exceeds train.steps (5): the learning rate only rises to 1 "
      "and never reaches 2");
}

}  // namespace
}  // namespace tessera
