// SPDX-License-Identifier: Apache-2.0
// States that rest in shards over several axes of the mesh: what is computed is what one rank
// computes, and each rank holds its part of them alone.
#include <gtest/gtest.h>

#include "plan_cases.h"

namespace tessera {
namespace {

// The case with states over all of these axes.
struct ShardedCase {
  PlanCase plan;
  std::vector<std::string> axes;

  std::string name() const {
    std::string text = plan.name() + "_over";
    for (const std::string& axis : axes) text += "_" + axis;
    return text;
  }
  RunSpec spec() const {
    RunSpec spec = plan.spec();
    spec.plan.shard_axes.clear();
    for (const std::string& axis : axes) spec.plan.shard_axes.push_back(spec.plan.mesh.find(axis));
    return spec;
  }
};

std::vector<ShardedCase> cases() {
  using enum AxisKind;
  std::vector<ShardedCase> all;
  for (const int zero : {1, 2, 3})
    all.push_back(
        {{.model = "Llama", .axes = {{Fsdp, 2}, {Cp, 2}}, .zero = zero, .microbatches = 3},
         {"fsdp", "cp"}});
  all.push_back(
      {{.model = "Gpt", .axes = {{Fsdp, 2}, {Cp, 3}}, .zero = 3, .ulysses = true}, {"fsdp", "cp"}});
  all.push_back(
      {{.model = "Qwen", .axes = {{Dp, 2}, {Fsdp, 2}, {Cp, 2}}, .zero = 3}, {"fsdp", "cp"}});
  all.push_back(
      {{.model = "Qwen", .axes = {{Dp, 2}, {Fsdp, 2}, {Cp, 2}}, .zero = 2}, {"dp", "fsdp", "cp"}});
  all.push_back({{.model = "Mlp", .axes = {{Dp, 2}, {Fsdp, 3}}, .zero = 1}, {"dp", "fsdp"}});
  all.push_back({{.model = "Llama", .axes = {{Dp, 2}, {Cp, 4}}, .zero = 3}, {"cp"}});
  all.push_back({{.model = "Llama", .axes = {{Dp, 2}, {Ep, 3}}, .zero = 3}, {"dp"}});
  all.push_back(
      {{.model = "Qwen", .axes = {{Dp, 2}, {Fsdp, 2}, {Ep, 2}}, .zero = 3}, {"fsdp", "ep"}});
  all.push_back({{.model = "Gpt", .axes = {{Ep, 2}, {Cp, 2}}, .zero = 2}, {"ep", "cp"}});
  all.push_back({{.model = "Gpt",
                  .axes = {{Fsdp, 2}, {Cp, 2}, {Tp, 2}},
                  .zero = 3,
                  .sequence_parallel = true,
                  .microbatches = 2},
                 {"fsdp", "cp"}});
  all.push_back({{.model = "Gpt",
                  .axes = {{Fsdp, 2}, {Cp, 2}, {Pp, 2}},
                  .zero = 3,
                  .microbatches = 4,
                  .schedule = "1f1b",
                  .recompute = "block"},
                 {"fsdp", "cp"}});
  return all;
}

class ShardAxes : public testing::TestWithParam<ShardedCase> {};

void expect_equal(const RunSpec& spec) {
  const VerifyReport report = verify_plan(spec, poisoned());
  EXPECT_LE(report.gradient.error, report.gradient.allowed) << report.gradient.name;
  EXPECT_LE(report.parameter.error, report.parameter.allowed) << report.parameter.name;
  EXPECT_EQ(report.replica.error, 0) << report.replica.name;
  EXPECT_TRUE(report.equal());
}

TEST_P(ShardAxes, OfAPlanChangeNothingInItsResults) { expect_equal(GetParam().spec()); }

TEST_P(ShardAxes, WithSumsInAnotherDtype) {
  RunSpec spec = GetParam().spec();
  spec.plan.reduce_dtype = DType::Fp32;
  expect_equal(spec);
}

TEST_P(ShardAxes, CutTheOptimizersStatesByTheirRanks) {
  const RunSpec sharded = GetParam().spec();
  const int shards = sharded.plan.mesh.size(sharded.plan.shard_axes);
  RunSpec whole = sharded;
  whole.plan.zero = 0;
  whole.plan.shard_axes = {};
  const auto bytes = [](const RunSpec& spec) {
    int64_t most = 0;
    for (const Program& program : compile(spec).programs)
      most = std::max(most, program.bytes(BufferKind::Optimizer));
    return most;
  };
  const int64_t cut = bytes(sharded), all = bytes(whole);
  EXPECT_GE(cut * shards, all);
  EXPECT_LT(cut * shards, all + all / 2) << "more than padding";
}

INSTANTIATE_TEST_SUITE_P(, ShardAxes, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace
}  // namespace tessera
