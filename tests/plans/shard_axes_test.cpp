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
  VerifyRequest request() const {
    VerifyRequest request = plan.request();
    request.plan.shard_axes.clear();
    for (const std::string& axis : axes)
      request.plan.shard_axes.push_back(request.plan.mesh.find(axis));
    return request;
  }
};

std::vector<ShardedCase> cases() {
  std::vector<ShardedCase> all;
  for (const int zero : {1, 2, 3})
    all.push_back(
        {{.model = "Llama", .fsdp = 2, .cp = 2, .zero = zero, .microbatches = 3}, {"fsdp", "cp"}});
  all.push_back({{.model = "Gpt", .fsdp = 2, .cp = 3, .zero = 3, .ulysses = true}, {"fsdp", "cp"}});
  all.push_back({{.model = "Qwen", .dp = 2, .fsdp = 2, .cp = 2, .zero = 3}, {"fsdp", "cp"}});
  all.push_back({{.model = "Qwen", .dp = 2, .fsdp = 2, .cp = 2, .zero = 2}, {"dp", "fsdp", "cp"}});
  all.push_back({{.model = "Mlp", .dp = 2, .fsdp = 3, .zero = 1}, {"dp", "fsdp"}});
  all.push_back({{.model = "Llama", .dp = 2, .cp = 4, .zero = 3}, {"cp"}});
  all.push_back({{.model = "Gpt",
                  .fsdp = 2,
                  .cp = 2,
                  .tp = 2,
                  .zero = 3,
                  .sequence_parallel = true,
                  .microbatches = 2},
                 {"fsdp", "cp"}});
  all.push_back({{.model = "Gpt",
                  .fsdp = 2,
                  .cp = 2,
                  .zero = 3,
                  .microbatches = 4,
                  .pp = 2,
                  .schedule = "1f1b",
                  .recompute = "block"},
                 {"fsdp", "cp"}});
  return all;
}

class ShardAxes : public testing::TestWithParam<ShardedCase> {};

void expect_equal(const VerifyRequest& request) {
  const VerifyReport report = verify_plan(request);
  EXPECT_LE(report.gradient.error, report.gradient.allowed) << report.gradient.name;
  EXPECT_LE(report.parameter.error, report.parameter.allowed) << report.parameter.name;
  EXPECT_EQ(report.replica.error, 0) << report.replica.name;
  EXPECT_TRUE(report.equal());
}

TEST_P(ShardAxes, OfAPlanChangeNothingInItsResults) { expect_equal(GetParam().request()); }

TEST_P(ShardAxes, WithSumsInAnotherDtype) {
  VerifyRequest request = GetParam().request();
  request.plan.reduce_dtype = DType::Fp32;
  expect_equal(request);
}

TEST_P(ShardAxes, CutTheOptimizersStatesByTheirRanks) {
  const VerifyRequest request = GetParam().request();
  const int shards = request.plan.mesh.size(request.plan.shard_axes);
  Plan whole = request.plan;
  whole.zero = 0;
  whole.shard_axes = {};
  const auto bytes = [&](const Plan& plan) {
    int64_t most = 0;
    for (const Program& program : compile_for(request, plan, 1).programs)
      most = std::max(most, program.bytes(BufferKind::Optimizer));
    return most;
  };
  const int64_t cut = bytes(request.plan), all = bytes(whole);
  EXPECT_GE(cut * shards, all);
  EXPECT_LT(cut * shards, all + all / 4) << "more than padding";
}

INSTANTIATE_TEST_SUITE_P(, ShardAxes, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace
}  // namespace tessera
