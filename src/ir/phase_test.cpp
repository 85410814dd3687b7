// SPDX-License-Identifier: Apache-2.0
#include "ir/phase.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

TEST(Phase, EachHasOneRowAndIsFoundByItsName) {
  std::set<std::string_view> names;
  int phase = 0;
  for (const RoutineRow& row : kRoutines) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(phase_from_name(row.name), row.phase) << row.name;
    if (!row.phase) continue;
    EXPECT_EQ(*row.phase, static_cast<Phase>(phase++)) << row.name;
    EXPECT_EQ(name(*row.phase), row.name);
  }
  EXPECT_EQ(static_cast<Phase>(phase - 1), Phase::StatesOutDone);
}

TEST(Phase, GradientsRunInOneBackwardUnlessTheScheduleSplitsIt) {
  for (const Phase phase : {Phase::Recompute, Phase::InputGrad, Phase::WeightGrad}) {
    EXPECT_EQ(routine_of(phase, false), RoutineKind::Backward) << name(phase);
    EXPECT_EQ(side(phase), StepSide::Backward) << name(phase);
  }
  EXPECT_EQ(routine_of(Phase::Recompute, true), RoutineKind::InputGrad);
  EXPECT_EQ(routine_of(Phase::InputGrad, true), RoutineKind::InputGrad);
  EXPECT_EQ(routine_of(Phase::WeightGrad, true), RoutineKind::WeightGrad);
}

TEST(Phase, RunsInTheRoutineOfItsNameWhereNothingElseIsSaid) {
  for (const RoutineRow& row : kRoutines)
    if (row.phase && !row.in) {
      EXPECT_EQ(name(routine_of(*row.phase, false)), row.name);
    }
}

}  // namespace
}  // namespace tessera
