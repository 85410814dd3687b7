// SPDX-License-Identifier: Apache-2.0
#include "verify/step_judge.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

constexpr double kLearningRate = 1e-3;

// One tensor of gradients, and the weights after a step that they made.
StepOutcome outcome(const std::vector<double>& gradients, const std::vector<double>& weights,
                    DType dtype = DType::Fp64) {
  double squares = 0;
  for (const double value : gradients) squares += value * value;
  return {.loss = 3,
          .grad_norm = std::sqrt(squares),
          .gradients = {{"w", {gradients, dtype, "w"}}},
          .parameters = {{"w", {weights, dtype, "w"}}}};
}

StepErrors judged(DType narrowest, const StepOutcome& got, const StepOutcome& exact,
                  std::span<const StepOutcome> rounded = {}) {
  StepErrors errors;
  StepJudge(narrowest, kLearningRate, false, false).judge(1, got, exact, rounded, errors);
  return errors;
}

TEST(StepJudge, LetsAWeightGoEitherWayWhoseGradientIsZeroButForRounding) {
  const StepOutcome exact = outcome({1, 1e-17}, {0.5, 0.5 - kLearningRate});
  const StepOutcome got = outcome({1, -1e-17}, {0.5, 0.5 + kLearningRate});
  EXPECT_TRUE(judged(DType::Fp64, got, exact).parameter.is_allowed());
}

TEST(StepJudge, FindsAWeightThatMissedItsUpdate) {
  const StepOutcome exact = outcome({1, 0.3}, {0.5, 0.5});
  const StepOutcome got = outcome({1, 0.3 + 1e-14}, {0.5, 0.5 + kLearningRate});
  const StepErrors errors = judged(DType::Fp64, got, exact);
  EXPECT_TRUE(errors.gradient.is_allowed());
  EXPECT_FALSE(errors.parameter.is_allowed());
  EXPECT_EQ(errors.parameter.name, "w");
}

// Of a second step: its gradient of 0.09 may or may not outweigh the first one's 1.
TEST(StepJudge, LetsASignTurnOnlyWhereEarlierGradientsMayOutweighTheLast) {
  const auto second_step = [](double gradient, double weight) {
    StepErrors errors;
    StepJudge judge(DType::Bf16, kLearningRate, true, false);
    const StepOutcome first = outcome({1, 1}, {0.5, 0.5}, DType::Fp32);
    judge.judge(1, first, first, std::vector{first}, errors);
    const StepOutcome exact = outcome({3, gradient}, {0.5, 0.5}, DType::Fp32),
                      got = outcome({3, gradient}, {0.5, weight}, DType::Fp32);
    judge.judge(2, got, exact, std::vector{exact}, errors);
    return errors.parameter.is_allowed();
  };
  EXPECT_TRUE(second_step(-0.09, 0.5 + 2 * kLearningRate));
  EXPECT_FALSE(second_step(-2, 0.5 + 2 * kLearningRate));
}

TEST(StepJudge, AllowsBelowFp64WhatRoundingDoesToOneRank) {
  const StepOutcome exact = outcome({1, 0.3}, {0.5, 0.5});
  const std::vector<StepOutcome> rounded{outcome({1, 0.34}, {0.5, 0.5}, DType::Fp32)};
  const auto gradient_at = [&](double value) {
    return judged(DType::Bf16, outcome({1, value}, {0.5, 0.5}, DType::Fp32), exact, rounded)
        .gradient.is_allowed();
  };
  EXPECT_TRUE(gradient_at(0.4));
  EXPECT_FALSE(gradient_at(0.6));
}

TEST(StepJudge, LetsMatricesTurnByWhatRoundingDoesToOneRankBelowFp64) {
  const StepOutcome exact = outcome({1, 0.3}, {0.5, 0.5}, DType::Fp32);
  const std::vector<StepOutcome> rounded{outcome({1, 0.3}, {0.5, 0.51}, DType::Fp32)};
  const auto weight_at = [&](double value, bool takes_matrices) {
    StepErrors errors;
    StepJudge(DType::Fp32, kLearningRate, false, takes_matrices)
        .judge(1, outcome({1, 0.3}, {0.5, value}, DType::Fp32), exact, rounded, errors);
    return errors.parameter.is_allowed();
  };
  EXPECT_TRUE(weight_at(0.54, true));
  EXPECT_FALSE(weight_at(0.57, true));
  EXPECT_FALSE(weight_at(0.54, false));
}

TEST(StepJudge, KnowsTheNormInEveryPrecision) {
  const StepOutcome exact = outcome({1, 0.3}, {0.5, 0.5});
  const std::vector<StepOutcome> rounded{outcome({1.2, 0.34}, {0.5, 0.5}, DType::Fp32)};
  StepOutcome got = rounded.front();
  EXPECT_TRUE(judged(DType::Bf16, got, exact, rounded).grad_norm.is_allowed());
  got.grad_norm *= 1.001;
  EXPECT_FALSE(judged(DType::Bf16, got, exact, rounded).grad_norm.is_allowed());
}

TEST(StepJudge, FindsWhatIsMissingOrNoNumber) {
  const StepOutcome exact = outcome({1, 0.3}, {0.5, 0.5});
  EXPECT_FALSE(judged(DType::Fp64, outcome({1, NAN}, {0.5, 0.5}), exact).gradient.is_allowed());
  EXPECT_FALSE(judged(DType::Fp64, outcome({1, 0.3}, {0.5, NAN}), exact).parameter.is_allowed());
  StepOutcome got = exact;
  got.parameters.clear();
  EXPECT_FALSE(judged(DType::Fp64, got, exact).parameter.is_allowed());
}

TEST(StepJudge, AcceptsGradientsThatAreAllZero) {
  const StepOutcome exact = outcome({0, 0}, {0.5, 0.5});
  const StepErrors errors = judged(DType::Fp64, exact, exact);
  EXPECT_TRUE(errors.gradient.is_allowed() && errors.grad_norm.is_allowed() &&
              errors.parameter.is_allowed());
}

}  // namespace
}  // namespace tessera
