// SPDX-License-Identifier: Apache-2.0
// Meshes whose ranks share one GPU: bits that repeat, and what is refused. GpuPlan and GpuPipeline
// (plan_test.cpp) compare them with one rank.
#include <gtest/gtest.h>

#include "data/made_batch.h"
#include "plan_cases.h"

namespace tessera {
namespace {

using enum AxisKind;

class GpuMesh : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = missing_gpu(); !why.empty()) GTEST_SKIP() << why;
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
           .schedule = "zb_h1"}};
}

struct FourSteps {
  std::vector<double> losses;
  std::vector<std::vector<std::byte>> states;
  bool operator==(const FourSteps&) const = default;
};

FourSteps run_steps(const VerifyRequest& request, CudaExecutorOptions options) {
  const auto mesh = make_cuda_mesh(compile_for(request, request.plan, 1).programs, options);
  initialise_states(*mesh, request.seed);
  FourSteps run;
  for (int step = 1; step <= 4; ++step) {
    write_made_batch(*mesh, step, {.seed = 1, .vocabulary = request.model.vocabulary});
    mesh->write_step("learning_rate", 1e-3);
    mesh->write_step("step", step);
    mesh->run("train_step");
    run.losses.push_back(mesh->read_step("loss"));
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
      VerifyRequest request = plan.request();
      request.precision = precision;
      const FourSteps graph = run_steps(request, {}), again = run_steps(request, {});
      const FourSteps apart = run_steps(request, {.wait_for_each = true});
      EXPECT_EQ(graph.losses, apart.losses);
      EXPECT_TRUE(graph == again && graph == apart) << name(precision);
    }
}

TEST_F(GpuMesh, SaysWhereRanksStandStill) {
  const PlanCase plan{.model = "Gpt", .axes = {{Pp, 2}}};
  const VerifyRequest request = plan.request();
  std::vector<Program> programs = compile_for(request, request.plan, 1).programs;
  for (Script& script : programs[1].scripts) script.calls.clear();
  const auto mesh = make_cuda_mesh(programs);
  try {
    mesh->run("train_step");
    FAIL();
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("train_step stands still: rank 0 is in"), std::string::npos) << text;
    EXPECT_NE(text.find("not started by rank 1"), std::string::npos) << text;
  }
}

TEST_F(GpuMesh, IsRefusedWhereItsMemoryIsTooSmall) {
  const PlanCase plan{.model = "Llama", .axes = {{Dp, 2}}};
  VerifyRequest request = plan.request();
  request.microbatch.batch = int64_t{1} << 32;
  const std::vector<Program> programs = compile_for(request, request.plan, 1).programs;
  try {
    make_cuda_mesh(programs);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_TRUE(error.message().starts_with("the step needs ")) << error.message();
  }
}

}  // namespace
}  // namespace tessera
