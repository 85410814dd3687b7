// SPDX-License-Identifier: Apache-2.0
#include "schedule/check_schedule.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

using Kind = ActionKind;

std::string error_of(const Schedule& schedule) {
  try {
    check_schedule(schedule);
  } catch (const UserError& error) {
    return error.message();
  }
  return "no error";
}

// Two ranks, one stage each, two microbatches: 0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1.
Schedule two_by_two() { return make_schedule("1f1b", 2, 1, 2); }

TEST(CheckSchedule, AcceptsWholeAndSplitBackwardsSideBySide) {
  Schedule schedule = two_by_two();
  schedule.actions[1] = {{Kind::Forward, 1, 0},
                         {Kind::InputGrad, 1, 0},
                         {Kind::Forward, 1, 1},
                         {Kind::WeightGrad, 1, 0},
                         {Kind::Backward, 1, 1}};
  EXPECT_EQ(error_of(schedule), "no error");
}

TEST(CheckSchedule, NamesAnActionThatIsMissing) {
  Schedule schedule = two_by_two();
  schedule.actions[1].pop_back();
  EXPECT_EQ(error_of(schedule), "rank 1 never runs 1B1");
  schedule = two_by_two();
  schedule.actions[0].erase(schedule.actions[0].begin());
  EXPECT_EQ(error_of(schedule), "rank 0 never runs 0F0");
  schedule = make_schedule("zb_h1", 2, 1, 2);
  schedule.actions[1].pop_back();
  EXPECT_EQ(error_of(schedule), "rank 1 never runs 1W1");
}

TEST(CheckSchedule, NamesAnActionThatStandsTwice) {
  Schedule schedule = two_by_two();
  schedule.actions[0].push_back({Kind::Forward, 0, 1});
  EXPECT_EQ(error_of(schedule), "rank 0 runs 0F1 twice, as actions 1 and 4");
}

TEST(CheckSchedule, RefusesAWholeBackwardBesideASplitOne) {
  Schedule schedule = two_by_two();
  schedule.actions[0].push_back({Kind::WeightGrad, 0, 1});
  EXPECT_EQ(error_of(schedule), "both 0B1 and 0W1 are run");
}

TEST(CheckSchedule, RefusesStagesOfOtherRanksAndWhatIsOutOfRange) {
  Schedule schedule = two_by_two();
  schedule.actions[0][0].stage = 1;
  EXPECT_EQ(error_of(schedule), "rank 0 runs 1F0, but stage 1 is on rank 1");
  schedule.actions[0][0].stage = 2;
  EXPECT_EQ(error_of(schedule), "rank 0 runs 2F0, but there are stages 0 to 1");
  schedule = two_by_two();
  schedule.actions[1][2].microbatch = 2;
  EXPECT_EQ(error_of(schedule), "rank 1 runs 1F2, but there are microbatches 0 to 1");
}

TEST(CheckSchedule, RefusesABackwardBeforeItsForward) {
  Schedule schedule = two_by_two();
  std::swap(schedule.actions[1][0], schedule.actions[1][1]);
  EXPECT_EQ(error_of(schedule), "rank 1 runs 1B0 (action 0) before 1F0 (action 1)");
}

TEST(CheckSchedule, RefusesAWeightGradientBeforeTheInputs) {
  Schedule schedule = make_schedule("zb_h1", 1, 1, 1);
  std::swap(schedule.actions[0][1], schedule.actions[0][2]);
  EXPECT_EQ(error_of(schedule), "rank 0 runs 0W0 (action 1) before 0I0 (action 2)");
}

TEST(CheckSchedule, RefusesMessagesThatArriveOutOfOrder) {
  Schedule schedule = two_by_two();
  std::swap(schedule.actions[0][0], schedule.actions[0][1]);
  EXPECT_EQ(error_of(schedule),
            "stages 0 and 1 differ in the order of microbatches: forward 0 is 1 on one and 0 on "
            "the other");
  schedule = two_by_two();
  std::swap(schedule.actions[0][2], schedule.actions[0][3]);
  EXPECT_EQ(error_of(schedule),
            "stages 0 and 1 differ in the order of microbatches: backward 0 is 1 on one and 0 on "
            "the other");
}

TEST(CheckSchedule, RefusesADeadlockAndNamesWhoWaitsForWhom) {
  Schedule schedule = two_by_two();
  // Rank 0 waits for a gradient before it sends the second microbatch, rank 1 the other way round.
  schedule.actions[0] = {
      {Kind::Forward, 0, 0}, {Kind::Backward, 0, 0}, {Kind::Forward, 0, 1}, {Kind::Backward, 0, 1}};
  schedule.actions[1] = {
      {Kind::Forward, 1, 0}, {Kind::Forward, 1, 1}, {Kind::Backward, 1, 0}, {Kind::Backward, 1, 1}};
  EXPECT_EQ(error_of(schedule),
            "schedule 1f1b deadlocks: rank 0 at 0B0 (action 1) waits for microbatch 0 of stage 1 "
            "on rank 1; rank 1 at 1F1 (action 1) waits for microbatch 1 of stage 0 on rank 0");
}

}  // namespace
}  // namespace tessera
