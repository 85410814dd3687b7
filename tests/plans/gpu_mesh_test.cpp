// SPDX-License-Identifier: Apache-2.0
// Meshes whose ranks share one GPU: bits that repeat, and what is refused. GpuPlan and GpuPipeline
// (plan_test.cpp) compare them with one rank.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/synthetic_batch.h"
#include "exec/device.h"
#include "exec/train_step.h"
#include "plan_cases.h"

namespace tessera {
namespace {

using enum AxisKind;

class GpuMesh : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
};

std::vector<PlanCase> some_cases() {
  return {{.model = "Llama",
           .axes = {{Fsdp, 2}, {Tp, 2}},
           .zero = 3,
           .sequence_parallel = true,
           .microbatches = 2},
          {.model = "Gpt",
           .axes = {{Pp, 2}, {Dp, 2}, {Cp, 2}},
           .zero = 2,
           .microbatches = 3,
           .schedule = "zb_h1"},
          {.model = "Moe", .axes = {{Dp, 2}, {Ep, 2}}, .microbatches = 2, .exchange = true}};
}

struct FourSteps {
  std::vector<double> losses;
  std::vector<std::vector<std::byte>> states;
  bool operator==(const FourSteps&) const = default;
};

std::unique_ptr<LocalMesh> make_mesh(std::vector<Program> programs, ExecutorOptions options = {}) {
  return require_device(DeviceKind::Cuda).make_mesh(std::move(programs), std::move(options));
}

FourSteps run_steps(const RunSpec& spec, ExecutorOptions options) {
  const auto mesh = make_mesh(compile(spec).programs, std::move(options));
  initialise_states(*mesh, 1);
  FourSteps run;
  for (int step = 1; step <= 4; ++step) {
    write_verification_batch(*mesh, step, {.seed = 1, .vocabulary = spec.model.vocabulary});
    run.losses.push_back(run_train_step(*mesh, {.learning_rate = 1e-3, .step = step}).loss);
  }
  for (const StateBuffer& state : mesh->program().states)
    for (int rank = 0; rank < mesh->num_ranks(); ++rank) {
      run.states.emplace_back(static_cast<size_t>(state.type.bytes()));
      mesh->rank(rank).read_state(state, run.states.back());
    }
  return run;
}

TEST_F(GpuMesh, RepeatsItsBitsAlsoAsAGraph) {
  for (const PlanCase& plan : some_cases())
    for (const DType precision : {DType::Fp64, DType::Bf16}) {
      SCOPED_TRACE(plan.name());
      RunSpec spec = plan.spec();
      spec.precision = precision;
      const FourSteps graph = run_steps(spec, {}), again = run_steps(spec, {});
      const FourSteps apart = run_steps(spec, {.wait_for_each = true});
      EXPECT_EQ(graph.losses, apart.losses);
      EXPECT_TRUE(graph == again && graph == apart) << name(precision);
    }
}

// From the second step on they are graphs. What a stream does is disjoint, so it adds up to less
// than the script.
TEST_F(GpuMesh, EveryInstructionHasItsTimesAlsoInAGraph) {
  for (const PlanCase& plan : some_cases()) {
    SCOPED_TRACE(plan.name());
    const RunSpec spec = plan.spec();
    const int ranks = spec.plan.mesh.num_ranks();
    std::vector<double> seconds(static_cast<size_t>(ranks)), begin(static_cast<size_t>(ranks));
    std::vector<int> seen(static_cast<size_t>(ranks));
    const auto mesh = make_mesh(
        compile(spec).programs, {.observer = [&](int rank, const InstructionEvent& event) {
          const auto r = static_cast<size_t>(rank);
          const double now = std::chrono::duration<double>(event.time.time_since_epoch()).count();
          EXPECT_GE(now, begin[r]);
          if (event.finished) seconds[r] += now - begin[r];
          begin[r] = now;
          ++seen[r];
        }});
    initialise_states(*mesh, 1);
    write_verification_batch(*mesh, 1, {.seed = 1, .vocabulary = spec.model.vocabulary});
    std::vector<int> first;
    for (int step = 1; step <= 4; ++step) {
      std::ranges::fill(seconds, 0);
      std::ranges::fill(seen, 0);
      run_train_step(*mesh, {.learning_rate = 1e-3, .step = step});
      if (step == 1) first = seen;
      EXPECT_EQ(seen, first);
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_GT(seconds[static_cast<size_t>(rank)], 0);
        EXPECT_LE(seconds[static_cast<size_t>(rank)], 1.01 * mesh->rank_times()[0].run_seconds);
      }
    }
  }
}

TEST_F(GpuMesh, SaysWhereRanksStandStill) {
  const PlanCase plan{.model = "Gpt", .axes = {{Pp, 2}}};
  std::vector<Program> programs = compile(plan.spec()).programs;
  for (Script& script : programs[1].scripts) script.calls.clear();
  const auto mesh = make_mesh(programs);
  try {
    mesh->run("train_step");
    FAIL();
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("train_step is stuck: rank 0 is in"), std::string::npos) << text;
    EXPECT_NE(text.find("not started by rank 1"), std::string::npos) << text;
  }
}

TEST_F(GpuMesh, IsRefusedWhereItsMemoryIsTooSmall) {
  const PlanCase plan{.model = "Llama", .axes = {{Dp, 2}}};
  RunSpec spec = plan.spec();
  spec.microbatch.batch = int64_t{1} << 32;
  const std::vector<Program> programs = compile(spec).programs;
  try {
    make_mesh(programs);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_TRUE(error.message().starts_with("the step needs ")) << error.message();
  }
}

}  // namespace
}  // namespace tessera
