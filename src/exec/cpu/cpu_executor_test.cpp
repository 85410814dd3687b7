// SPDX-License-Identifier: Apache-2.0
// Whole training steps of one small model of each family.
#include "exec/cpu/cpu_executor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/convert_elements.h"
#include "core/random.h"
#include "exec/mesh_executor.h"
#include "exec/testing/small_run.h"

namespace tessera {
namespace {

double largest_of(const std::map<std::string, std::vector<double>>& gradients) {
  double largest = 0;
  for (const auto& [name, gradient] : gradients)
    for (const double value : gradient) largest = std::max(largest, std::abs(value));
  return largest;
}

class TrainingRun : public testing::TestWithParam<SmallModel> {
 protected:
  // The states and losses of three steps.
  struct Outcome {
    std::vector<double> losses;
    std::map<std::string, std::vector<std::byte>> states;
    bool operator==(const Outcome&) const = default;
  };
  static Outcome outcome(const SmallRunOptions& options) {
    SmallRun run(GetParam(), options);
    Outcome outcome{.losses = run.losses(3), .states = {}};
    outcome.states = run.states();
    return outcome;
  }
};

TEST_P(TrainingRun, TwoRunsGiveTheSameBits) {
  for (const Precision precision : kPrecisions) {
    const SmallRunOptions options{.precision = precision, .microbatches = 2, .threads = 2};
    EXPECT_EQ(outcome(options), outcome(options)) << name(precision);
  }
}

TEST_P(TrainingRun, TheNumberOfThreadsDoesNotChangeTheBits) {
  for (const Precision precision : kPrecisions) {
    const Outcome one = outcome({.precision = precision, .microbatches = 2, .threads = 1});
    for (const int threads : {2, 3})
      EXPECT_EQ(one, outcome({.precision = precision, .microbatches = 2, .threads = threads}))
          << name(precision) << ", " << threads << " threads";
  }
}

TEST_P(TrainingRun, NobodyReadsADeadOrUnwrittenBuffer) {
  for (const Precision precision : kPrecisions) {
    const Outcome clean = outcome({.precision = precision, .microbatches = 2});
    const Outcome poisoned = outcome({.precision = precision, .microbatches = 2, .poison = true});
    for (const double loss : clean.losses) EXPECT_TRUE(std::isfinite(loss));
    EXPECT_EQ(clean, poisoned) << name(precision);
  }
}

TEST_P(TrainingRun, FusionDoesNotChangeTheBits) {
  for (const Precision precision : kPrecisions)
    EXPECT_EQ(outcome({.precision = precision}),
              outcome({.precision = precision, .pipeline = {.disabled = {"fuse"}}}))
        << name(precision);
}

TEST_P(TrainingRun, AStepKeepsNothingOfTheOneBeforeButTheStates) {
  SmallRun fresh(GetParam(), {.microbatches = 2});
  const auto start = fresh.states();
  const double loss = fresh.train_step(2);
  SmallRun used(GetParam(), {.microbatches = 2});
  used.train_step(1);
  used.evaluate(3);
  used.write_states(start);
  EXPECT_EQ(used.train_step(2), loss);
  EXPECT_EQ(used.states(), fresh.states());
  EXPECT_EQ(used.gradients(), fresh.gradients());
}

TEST_P(TrainingRun, MicrobatchesAddUpToOneLargeBatch) {
  SmallRun whole(GetParam(), {.batch = 4, .microbatches = 1});
  const std::vector<double> losses = whole.losses(3);
  const auto expected = whole.gradients();
  // Some gradients are zero in theory (a key's bias): errors are measured against the largest.
  const double tolerance = 1e-12 * largest_of(expected);
  for (const int parts : {2, 4}) {
    SmallRun run(GetParam(), {.batch = 4 / parts, .microbatches = parts});
    EXPECT_LT(relative_error(run.losses(3), losses), 1e-12);
    for (const auto& [name, gradient] : run.gradients())
      for (size_t i = 0; i < gradient.size(); ++i)
        ASSERT_NEAR(gradient[i], expected.at(name)[i], tolerance) << name;
  }
}

TEST_P(TrainingRun, EvaluateGivesTheLossOfTheStepAndChangesNoState) {
  SmallRun run(GetParam(), {.microbatches = 2});
  const auto before = run.states();
  const double evaluated = run.evaluate(1);
  EXPECT_EQ(run.states(), before);
  EXPECT_NEAR(run.train_step(1), evaluated, 1e-12 * std::abs(evaluated));
  EXPECT_NE(run.states(), before);
}

TEST_P(TrainingRun, GradientsMatchFiniteDifferences) {
  SmallRun run(GetParam(), {.microbatches = 2, .learning_rate = 0.0});
  run.train_step(1);  // a learning rate of 0 leaves the weights
  const auto gradients = run.gradients();
  const double step = 1e-5;
  const double largest = largest_of(gradients);
  for (const auto& [name, gradient] : gradients) {
    const StateBuffer& state = *run.program().find_state(name);
    std::vector<double> weights(gradient.size());
    const auto bytes = std::as_writable_bytes(std::span(weights));
    run.executor().read_state(state, bytes);
    const RandomStream random(11, name);
    for (uint64_t trial = 0; trial < 3; ++trial) {
      const auto i = static_cast<size_t>(random.below(trial, weights.size()));
      const double kept = weights[i];
      const auto loss_at = [&](double weight) {
        weights[i] = weight;
        run.executor().write_state(state, bytes);
        run.evaluate(1);
        return run.objective();
      };
      const double slope = (loss_at(kept + step) - loss_at(kept - step)) / (2 * step);
      weights[i] = kept;
      run.executor().write_state(state, bytes);
      EXPECT_NEAR(gradient[i], slope, 1e-7 * largest) << name << "[" << i << "]";
    }
  }
}

TEST_P(TrainingRun, LearnsOneBatchByHeart) {
  for (const Precision precision : kPrecisions) {
    SmallRun run(GetParam(), {.precision = precision, .optimizer = {.weight_decay = 0.0}});
    const double first = run.train_step(1);
    double last = first;
    for (int step = 2; step <= 60; ++step) {
      run.write_inputs(1);
      run.executor().write_step("step", step);
      run.executor().run("train_step");
      last = run.executor().read_step("loss");
    }
    EXPECT_LT(last, 0.3 * first) << name(precision);
  }
}

TEST_P(TrainingRun, TheNormIsThatOfAllGradients) {
  SmallRun run(GetParam(), {.microbatches = 2});
  run.train_step(1);
  double squares = 0;
  for (const auto& [name, gradient] : run.gradients())
    for (const double value : gradient) squares += value * value;
  EXPECT_NEAR(run.executor().read_step("norm_squares"), squares, 1e-12 * squares);
}

TEST_P(TrainingRun, TheAverageFollowsTheWeights) {
  SmallRun run(GetParam(), {.optimizer = {.ema_decay = 0.75}});
  const auto read = [&](const std::string& name) {
    return to_doubles(run.program().find_state(name)->type, run.states().at(name));
  };
  for (const StateBuffer& state : run.program().states) {
    if (state.spec.role != StateRole::Average) continue;
    std::vector<double> expected = read(state.spec.parameter);
    for (int step = 1; step <= 2; ++step) {
      run.train_step(step);
      const std::vector<double> weights = read(state.spec.parameter);
      for (size_t i = 0; i < weights.size(); ++i)
        expected[i] = 0.75 * expected[i] + 0.25 * weights[i];
    }
    EXPECT_LT(relative_error(read(state.name), expected), 1e-12) << state.name;
    return;
  }
  FAIL() << "no average";
}

INSTANTIATE_TEST_SUITE_P(CpuExecutor, TrainingRun, testing::ValuesIn(small_models()),
                         [](const auto& test) { return test.param.name; });

TEST(CpuExecutor, RefusesBytesOfAnotherSize) {
  SmallRun run(small_model("Mlp"), {});
  std::vector<std::byte> bytes(3);
  const StateBuffer& state = run.program().states.front();
  EXPECT_THROW(run.executor().write_state(state, bytes), InternalError);
  EXPECT_THROW(run.executor().read_state(state, bytes), InternalError);
  EXPECT_THROW(run.executor().read_gradient(state, bytes), InternalError);
  EXPECT_THROW(run.executor().write_batch(run.program().batch_inputs.front(), 0, bytes),
               InternalError);
  EXPECT_THROW(run.executor().write_step("temperature", 1.0), InternalError);
}

TEST(CpuExecutor, RefusesAMicrobatchThatIsNotThere) {
  SmallRun run(small_model("Mlp"), {.microbatches = 2});
  const HostBuffer& input = run.program().batch_inputs.front();
  const std::vector<std::byte> bytes(static_cast<size_t>(input.type.bytes()));
  EXPECT_NO_THROW(run.executor().write_batch(input, 1, bytes));
  EXPECT_THROW(run.executor().write_batch(input, 2, bytes), InternalError);
}

TEST(CpuExecutor, RefusesMoreThreadsThanWorkspacesHaveRoomFor) {
  Program program = compile(small_model("Mlp").build(DType::Fp32, 2), {}).program();
  EXPECT_THROW(CpuExecutor(std::move(program), {.threads = 2}), InternalError);
}

TEST(MeshExecutor, GivesOnWhatKeepsARankFromBeginning) {
  std::vector<Program> programs = compile(small_model("Mlp").build(DType::Fp32, 2),
                                          {.plan = make_plan({.mesh = {{"dp", 2}}}, {})})
                                      .programs;
  EXPECT_THROW(MeshExecutor(std::move(programs), {.threads = 2}), InternalError);
}

TEST(CpuExecutor, ALogitsModelLeavesItsScoresToBeRead) {
  Program program =
      compile(small_model("Gpt").build(DType::Fp32, 2, HeadKind::Logits), {.training = false})
          .program();
  CpuExecutor executor(std::move(program), {});
  initialise_states(executor, 3);
  for (const HostBuffer& input : executor.program().batch_inputs) {
    const std::vector<std::byte> zeros(static_cast<size_t>(input.type.bytes()));
    executor.write_batch(input, 0, zeros);
  }
  executor.run("evaluate");
  std::vector<float> scores(2 * 29);
  executor.read_output(std::as_writable_bytes(std::span(scores)));
  // Two rows of the same input, and scores that differ from word to word.
  for (size_t word = 0; word < 29; ++word) EXPECT_EQ(scores[word], scores[29 + word]);
  EXPECT_NE(scores[0], scores[1]);
}

}  // namespace
}  // namespace tessera
