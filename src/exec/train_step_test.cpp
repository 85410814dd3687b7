// SPDX-License-Identifier: Apache-2.0
#include "exec/train_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exec/testing/small_run.h"

namespace tessera {
namespace {

TEST(TrainStep, WritesAndReadsWhatTheProgramNames) {
  SmallRun by_name(small_model("Gpt"), {}), by_struct(small_model("Gpt"), {});
  for (int step = 1; step <= 3; ++step) {
    const double expected = by_name.train_step(step);
    by_struct.write_inputs(step);
    const StepResults results = run_train_step(
        by_struct.executor(), {.learning_rate = SmallRunOptions{}.learning_rate, .step = step});
    EXPECT_EQ(results.loss, expected) << step;
    EXPECT_EQ(results.grad_norm, std::sqrt(by_name.executor().read_step("norm_squares"))) << step;
    EXPECT_EQ(read_step_results(by_struct.executor()).grad_norm, results.grad_norm) << step;
  }
}

TEST(TrainStep, TakesTheLearningRateAndTheStepOfItsInputs) {
  SmallRun slow(small_model("Gpt"), {}), fast(small_model("Gpt"), {}), late(small_model("Gpt"), {});
  const auto second_loss = [](SmallRun& run, const StepInputs& first) {
    run.write_inputs(1);
    run_train_step(run.executor(), first);
    run.write_inputs(2);
    return run_train_step(run.executor(), {.learning_rate = 0, .step = 2}).loss;
  };
  const double loss = second_loss(slow, {.learning_rate = 1e-3, .step = 1});
  EXPECT_NE(second_loss(fast, {.learning_rate = 1e-1, .step = 1}), loss);
  EXPECT_NE(second_loss(late, {.learning_rate = 1e-3, .step = 100}), loss);
}

}  // namespace
}  // namespace tessera
