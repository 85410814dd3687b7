// SPDX-License-Identifier: Apache-2.0
// Every plan computes what one rank would, in fp64. By default a covering set of the combinations;
// `--all` runs every one.
#include <gtest/gtest.h>

#include "plan_cases.h"

namespace tessera {
namespace {

class EqualsOneRank : public testing::Test {
 public:
  explicit EqualsOneRank(PlanCase plan) : plan_(std::move(plan)) {}

  void TestBody() override {
    const VerifyReport report = verify_plan(plan_.request());
    EXPECT_LE(report.loss.error, report.tolerance) << report.loss.name;
    EXPECT_LE(report.grad_norm.error, report.tolerance) << report.grad_norm.name;
    EXPECT_LE(report.gradient.error, report.tolerance) << report.gradient.name;
    EXPECT_LE(report.parameter.error, report.tolerance) << report.parameter.name;
    EXPECT_EQ(report.replica.error, 0) << report.replica.name;
    EXPECT_TRUE(report.equal());
  }

 private:
  PlanCase plan_;
};

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool all = argc > 1 && std::string(argv[1]) == "--all";
  const auto add = [](const char* suite, const std::vector<tessera::PlanCase>& plans) {
    for (const tessera::PlanCase& plan : plans)
      testing::RegisterTest(
          suite, plan.name().c_str(), nullptr, nullptr, __FILE__, __LINE__,
          [plan]() -> testing::Test* { return new tessera::EqualsOneRank(plan); });
  };
  add("Plan", all ? tessera::all_plan_cases() : tessera::covering_plan_cases());
  add("Pipeline", tessera::covering_pipeline_cases());
  return RUN_ALL_TESTS();
}
