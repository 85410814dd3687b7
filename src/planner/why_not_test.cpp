// SPDX-License-Identifier: Apache-2.0
#include "planner/why_not.h"

#include <gtest/gtest.h>

#include "planner/testing/small_task.h"

namespace tessera {
namespace {

using enum AxisKind;

TEST(WhyNot, SaysByHowMuchAPlanLostAndWhere) {
  PlanTask task = preset_task("llama3-1b", 8, 16, 2048);
  const std::vector<Trial> ranked{
      try_candidate(task, {Candidate{.axes = {{Dp, 8}}, .microbatch = 2}})};
  EXPECT_EQ(why_not(task, ranked, "dp=8").reason, "it is the one chosen");
  EXPECT_EQ(why_not(task, ranked, "tp=3").reason, "mesh tp=3 has 3 ranks, not 8");
  const WhyNot slower = why_not(task, ranked, "tp=8,microbatch=1");
  EXPECT_NE(slower.reason.find(" s slower ("), std::string::npos) << slower.reason;
  EXPECT_NE(slower.reason.find("exposed communication +"), std::string::npos) << slower.reason;
  task.cluster.device.memory_bytes.value = 1e9;
  const WhyNot larger = why_not(task, ranked, "dp=8");
  EXPECT_TRUE(larger.reason.starts_with("does not fit: a rank needs ")) << larger.reason;
}

TEST(WhyNot, GivesRanksThatAreLeftOverToFsdp) {
  const PlanTask task = preset_task("llama3-1b", 8, 16, 2048);
  const std::vector<Trial> ranked{try_candidate(task, {Candidate{.axes = {{Dp, 8}}}})};
  const Candidate asked = why_not(task, ranked, "tp=2").candidate;
  EXPECT_EQ(asked, (Candidate{.axes = {{Fsdp, 4}, {Tp, 2}}, .zero = 1}));
}

}  // namespace
}  // namespace tessera
