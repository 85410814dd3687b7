// SPDX-License-Identifier: Apache-2.0
// Schedules from files, as users write them, run like those that are built in.
#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "plan_cases.h"
#include "schedule/schedule_csv.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

using enum AxisKind;

class CustomSchedule : public testing::Test {
 protected:
  // Of a plan of two stages on two ranks, with the actions of `csv`.
  RunSpec spec(const std::string& csv, int microbatches) const {
    const std::filesystem::path path = folder_.write("actions.csv", csv);
    RunSpec spec =
        PlanCase{.model = "Llama", .axes = {{Pp, 2}}, .microbatches = microbatches}.spec();
    spec.plan.schedule = "custom";
    spec.plan.actions = path.string();
    spec.plan.chunks = 0;
    return spec;
  }

  static std::string refusal(const RunSpec& spec) {
    return user_error_of([&] { verify_plan(spec, poisoned()); });
  }

  TemporaryFolder folder_;
};

TEST_F(CustomSchedule, OfABuiltInTableGivesItsPrograms) {
  const auto programs = [](const RunSpec& spec) {
    std::string text;
    for (const Program& program : compile(spec).programs) text += print(program);
    return text;
  };
  const RunSpec own = spec(to_csv(make_schedule("zb_h1", 2, 1, 3)), 3);
  RunSpec built_in = own;
  built_in.plan.schedule = "zb_h1";
  EXPECT_EQ(programs(own), programs(built_in));
}

// No built-in one mixes whole and split backwards, or delays a weight gradient so.
TEST_F(CustomSchedule, OfOnesOwnEqualsOneRank) {
  const VerifyReport report = verify_plan(spec("0F0,0F1,0F2,0I0,0B1,0I2,0W2,0W0\n"
                                               "1F0,1B0,1F1,1I1,1F2,1I2,1W2,1W1\n",
                                               3),
                                          poisoned());
  EXPECT_TRUE(report.equal()) << report.gradient.name << " " << report.gradient.error;
}

TEST_F(CustomSchedule, OfOtherSizesIsRefused) {
  const std::string csv = to_csv(make_schedule("1f1b", 2, 1, 3));
  EXPECT_EQ(refusal(spec(csv, 4)), "the schedule has 3 microbatches, but train.microbatches is 4");
  EXPECT_EQ(refusal(spec(to_csv(make_schedule("1f1b", 4, 1, 4)), 4)),
            "the schedule has 4 ranks, but pp is 2");
  RunSpec chunked = spec(csv, 3);
  chunked.plan.chunks = 2;
  EXPECT_EQ(refusal(chunked), "the schedule has 1 stages per rank, but plan.chunks is 2");
}

}  // namespace
}  // namespace tessera
