// SPDX-License-Identifier: Apache-2.0
// A step whose numbers overflow: the instruction that made the first number that is not finite is
// named on every mesh, on the CPU and on a GPU, and looking for it changes no state.
#include <gtest/gtest.h>

#include "data/synthetic_batch.h"
#include "exec/device.h"
#include "exec/train_step.h"
#include "plan_cases.h"

namespace tessera {
namespace {

using enum AxisKind;

std::vector<PlanCase> cases() {
  return {{.model = "Gpt"},
          {.model = "Llama", .axes = {{Fsdp, 2}, {Tp, 2}}, .zero = 3, .microbatches = 2},
          {.model = "Llama", .axes = {{Dp, 2}}, .zero = 1},
          {.model = "Gpt", .axes = {{Dp, 2}}, .zero = 2, .microbatches = 2},
          {.model = "Llama", .axes = {{Cp, 2}}},
          {.model = "Gpt", .axes = {{Pp, 2}, {Dp, 2}}, .microbatches = 3, .schedule = "zb_h1"},
          {.model = "Llama", .axes = {{Pp, 2}}, .microbatches = 2},
          {.model = "Moe", .axes = {{Dp, 2}, {Ep, 2}}, .microbatches = 2, .exchange = true}};
}

using Bytes = std::vector<std::byte>;

class NonFiniteValue : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  static std::unique_ptr<Executor> make(const PlanCase& plan) {
    RunSpec spec = plan.spec();
    spec.precision = DType::Fp32;
    auto executor = require_device(GetParam()).make_mesh(compile(spec).programs, {});
    initialise_states(*executor, 1);
    write_verification_batch(*executor, 1, {.seed = 1, .vocabulary = spec.model.vocabulary});
    return executor;
  }

  static std::vector<Bytes> states_of(const Executor& executor) {
    std::vector<Bytes> states;
    for (const StateBuffer& state : executor.program().states) {
      states.emplace_back(static_cast<size_t>(state.type.bytes()));
      executor.read_state(state, states.back());
    }
    return states;
  }

  // The weights of the last layer's first product: each sum of it overflows.
  static void make_huge(Executor& executor, const std::string& name) {
    for (const StateBuffer& state : executor.program().states) {
      if (state.name != name) continue;
      const std::vector<float> huge(static_cast<size_t>(state.type.num_elements()), 3e38F);
      return executor.write_state(state, std::as_bytes(std::span(huge)));
    }
    FAIL() << "no state " << name;
  }
};

TEST_P(NonFiniteValue, IsNamedWithTheInstructionThatMadeIt) {
  for (const PlanCase& plan : cases()) {
    SCOPED_TRACE(plan.name());
    const auto executor = make(plan);
    run_train_step(*executor, {.learning_rate = 1e-3, .step = 1});
    make_huge(*executor, "layer.1.wv");
    run_train_step(*executor, {.learning_rate = 1e-3, .step = 2});
    const NonFinite found = executor->find_non_finite("train_step");
    ASSERT_TRUE(found.found);
    EXPECT_FALSE(found.received);
    const std::string text = to_text(found, 2);
    EXPECT_NE(text.find(" of layer.1, forward, microbatch 0, rank "), std::string::npos) << text;
    EXPECT_NE(text.find(": matmul"), std::string::npos) << text;
  }
}

TEST_P(NonFiniteValue, IsLookedForWithoutChangingAState) {
  for (const PlanCase& plan : cases()) {
    SCOPED_TRACE(plan.name());
    const auto executor = make(plan), undisturbed = make(plan);
    const auto step = [](Executor& on, int64_t number) {
      return run_train_step(on, {.learning_rate = 1e-3, .step = number}).loss;
    };
    step(*executor, 1);
    step(*undisturbed, 1);
    const std::vector<Bytes> before = states_of(*executor);
    EXPECT_FALSE(executor->find_non_finite("train_step").found);
    EXPECT_EQ(states_of(*executor), before);
    for (const int64_t number : {2, 3})
      EXPECT_EQ(step(*executor, number), step(*undisturbed, number)) << number;
    EXPECT_EQ(states_of(*executor), states_of(*undisturbed));
  }
}

INSTANTIATE_TEST_SUITE_P(OnCpu, NonFiniteValue, testing::Values(DeviceKind::Cpu));
INSTANTIATE_TEST_SUITE_P(GpuOnCuda, NonFiniteValue, testing::Values(DeviceKind::Cuda));

}  // namespace
}  // namespace tessera
