// SPDX-License-Identifier: Apache-2.0
// Every plan computes what one rank would, in fp64. By default a covering set of the combinations;
// `--all` runs every one. The covering sets' memory is checked too, and in builds that know a GPU
// they run there once more, all ranks on one.
#include <gtest/gtest.h>

#include "exec/device.h"
#include "plan_memory.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

using enum AxisKind;

void expect_equal_to_one_rank(const RunSpec& spec) {
  const VerifyReport report = verify_plan(spec, poisoned());
  EXPECT_LE(report.loss.error, report.loss.allowed) << report.loss.name;
  EXPECT_LE(report.grad_norm.error, report.grad_norm.allowed) << report.grad_norm.name;
  EXPECT_LE(report.gradient.error, report.gradient.allowed) << report.gradient.name;
  EXPECT_LE(report.parameter.error, report.parameter.allowed) << report.parameter.name;
  EXPECT_EQ(report.replica.error, 0) << report.replica.name;
  EXPECT_TRUE(report.equal());
}

void expect_equal_on_cpu(const PlanCase& plan) { expect_equal_to_one_rank(plan.spec()); }

void expect_equal_on_gpu(const PlanCase& plan) {
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  RunSpec spec = plan.spec();
  spec.device = DeviceKind::Cuda;
  expect_equal_to_one_rank(spec);
}

using Check = void (*)(const PlanCase&);

class PlanTest : public testing::Test {
 public:
  PlanTest(Check check, PlanCase plan) : check_(check), plan_(std::move(plan)) {}
  void TestBody() override { check_(plan_); }

 private:
  Check check_;
  PlanCase plan_;
};

void add(const char* suite, const std::vector<PlanCase>& plans, Check check) {
  for (const PlanCase& plan : plans)
    testing::RegisterTest(suite, plan.name().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [check, plan]() -> testing::Test* { return new PlanTest(check, plan); });
}

// More messages at once than any buffer was planned for: some schedules take them late.
std::vector<PlanCase> plans_of_many_microbatches() {
  std::vector<PlanCase> plans;
  for (const ScheduleKind& kind : schedule_kinds())
    plans.push_back({.model = "Mlp",
                     .axes = {{Pp, 2}},
                     .microbatches = 70,
                     .chunks = kind.least_chunks,
                     .schedule = std::string(kind.name)});
  return plans;
}

// As deep as Llama 3's 8B and 405B: the gradients of a rank's first chunk are summed while all
// layers of the next one talk over the same axis.
std::vector<PlanCase> plans_of_true_depth() {
  std::vector<PlanCase> plans;
  for (const int layers : {32, 126})
    for (const char* schedule : {"interleaved_1f1b", "looped_bfs"})
      plans.push_back({.model = "Llama",
                       .axes = {{Pp, 2}, {Cp, 2}},
                       .ulysses = layers == 126,
                       .microbatches = 2,
                       .chunks = 2,
                       .schedule = schedule,
                       .layers = layers});
  plans.push_back({.model = "Llama",
                   .axes = {{Pp, 2}, {Fsdp, 2}, {Tp, 2}},
                   .zero = 3,
                   .sequence_parallel = true,
                   .microbatches = 2,
                   .chunks = 2,
                   .schedule = "zb_v",
                   .layers = 126});
  return plans;
}

void add_all(bool every_plan) {
  const std::vector<PlanCase> plans = covering_plan_cases(), pipelines = covering_pipeline_cases();
  add("Plan", every_plan ? all_plan_cases() : plans, expect_equal_on_cpu);
  add("Pipeline", pipelines, expect_equal_on_cpu);
  add("ManyMicrobatches", plans_of_many_microbatches(), expect_equal_on_cpu);
  add("TrueDepth", plans_of_true_depth(), expect_equal_on_cpu);
  // An optimizer that needs whole matrices, which plans have in pieces.
  add("MuonPlan", with_optimizer(every_plan ? all_plan_cases() : plans, "muon"),
      expect_equal_on_cpu);
  add("MuonPipeline", with_optimizer(pipelines, "muon"), expect_equal_on_cpu);
  add("PlanMemory", plans, expect_memory_to_the_byte);
  add("PipelineMemory", pipelines, expect_memory_to_the_byte);
  if (!find_device(DeviceKind::Cuda)) return;
  add("GpuPlan", plans, expect_equal_on_gpu);
  add("GpuPipeline", pipelines, expect_equal_on_gpu);
  add("GpuMuonPlan", with_optimizer(plans, "muon"), expect_equal_on_gpu);
  add("GpuManyMicrobatches", plans_of_many_microbatches(), expect_equal_on_gpu);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool all = argc > 1 && std::string(argv[1]) == "--all";
  tessera::add_all(all);
  return RUN_ALL_TESTS();
}
