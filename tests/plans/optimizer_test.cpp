// SPDX-License-Identifier: Apache-2.0
// Every optimizer gives on every kind of mesh what it gives on one rank, and its states take the
// memory that its slots say.
#include "ir/optimizer.h"

#include <gtest/gtest.h>

#include "ir/op_list.h"
#include "plan_cases.h"

namespace tessera {
namespace {

std::vector<PlanCase> meshes() {
  using enum AxisKind;
  std::vector<PlanCase> plans{
      {.model = "Gpt", .axes = {{Dp, 2}}, .microbatches = 3},
      {.model = "Qwen", .axes = {{Fsdp, 2}}, .zero = 3, .microbatches = 3},
      {.model = "Llama", .axes = {{Dp, 2}, {Fsdp, 2}}, .zero = 3},
      {.model = "Gpt", .axes = {{Cp, 2}, {Tp, 2}}, .sequence_parallel = true},
      {.model = "Llama", .axes = {{Tp, 4}}, .recompute = "block"},
      {.model = "Qwen",
       .axes = {{Pp, 2}, {Dp, 2}},
       .zero = 2,
       .microbatches = 4,
       .schedule = "zb_h1",
       .recompute = "cheap"}};
  for (const int zero : {1, 2})
    plans.push_back({.model = "Llama", .axes = {{Dp, 3}}, .zero = zero, .microbatches = 2});
  return plans;
}

class OptimizerPlan : public testing::TestWithParam<std::tuple<OpKind, PlanCase>> {
 protected:
  static RunSpec spec() {
    RunSpec spec = std::get<1>(GetParam()).spec();
    spec.optimizer.op = std::get<0>(GetParam());
    return spec;
  }
};

TEST_P(OptimizerPlan, IsEqualToOneRank) {
  const VerifyReport report = verify_plan(spec(), poisoned());
  EXPECT_LE(report.gradient.error, report.gradient.allowed) << report.gradient.name;
  EXPECT_LE(report.parameter.error, report.parameter.allowed) << report.parameter.name;
  EXPECT_EQ(report.replica.error, 0) << report.replica.name;
  EXPECT_TRUE(report.equal());
}

TEST_P(OptimizerPlan, IsEqualToOneRankWithMasterWeights) {
  RunSpec bf16 = spec();
  bf16.precision = DType::Bf16;
  const VerifyReport report = verify_plan(bf16, poisoned());
  EXPECT_LE(report.parameter.error, report.parameter.allowed) << report.parameter.name;
  EXPECT_EQ(report.replica.error, 0) << report.replica.name;
  EXPECT_TRUE(report.equal());
}

std::string name_of(const testing::TestParamInfo<OptimizerPlan::ParamType>& instance) {
  const auto& [optimizer, plan] = instance.param;
  return fmt::format("{}_{}", name(optimizer), plan.name());
}

std::vector<OpKind> all_optimizers() {
  std::vector<OpKind> ops;
  for (const OptimizerDef& optimizer : optimizers()) ops.push_back(optimizer.op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(, OptimizerPlan,
                         testing::Combine(testing::ValuesIn(all_optimizers()),
                                          testing::ValuesIn(meshes())),
                         name_of);

// Four optimizers at once, whose parameters have bundles of their own.
TEST(ParameterGroupsOnPlans, AreEqualToOneRank) {
  for (const PlanCase& plan : meshes()) {
    RunSpec spec = plan.spec();
    spec.optimizer.groups = {
        {.pattern = "layer.*.w[qk]", .op = OpKind::lion},
        {.pattern = "layer.*", .learning_rate_factor = 0.5, .op = OpKind::muon},
        {.pattern = "*.table", .op = OpKind::sgd, .weight_decay = 0.0}};
    const VerifyReport report = verify_plan(spec, poisoned());
    EXPECT_LE(report.parameter.error, report.parameter.allowed) << report.parameter.name;
    EXPECT_TRUE(report.equal()) << plan.name();
  }
}

// Of all parameters, and of matrices alone.
int64_t parameter_bytes(const Program& program, bool matrices) {
  if (!matrices) return program.bytes(BufferKind::Parameter);
  int64_t bytes = 0;
  for (const StateBuffer& state : program.states)
    if (state.spec.role == StateRole::Parameter && !state.spec.matrix.empty())
      bytes += state.type.bytes();
  return bytes;
}

// In fp64 a slot is as large as the weights, and with zero = 1 these are whole. The matrices of
// this model need no padding.
TEST(OptimizerMemory, IsThatOfTheSlots) {
  for (const OptimizerDef& optimizer : optimizers())
    for (const int shards : {1, 2, 4}) {
      RunSpec spec =
          PlanCase{.model = "Llama", .axes = {{AxisKind::Dp, shards}}, .zero = shards > 1 ? 1 : 0}
              .spec();
      spec.optimizer = {.op = optimizer.op};
      const Compiled compiled = compile(spec);
      const Program& program = compiled.program();
      const OptimizerDef& others = *find_optimizer(optimizer.for_others.value_or(optimizer.op));
      const int64_t saved = std::ssize(others.slots) - std::ssize(optimizer.slots);
      EXPECT_EQ(program.bytes(BufferKind::Optimizer) * shards,
                parameter_bytes(program, false) * std::ssize(others.slots) -
                    parameter_bytes(program, true) * saved)
          << name(optimizer.op) << " in " << shards << " shards";
    }
}

}  // namespace
}  // namespace tessera
