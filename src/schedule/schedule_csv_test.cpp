// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule_csv.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_schedule_csv(text, "a.csv");
  } catch (const UserError& error) {
    return error.place() + " " + error.message();
  }
  return "no error";
}

TEST(ScheduleCsv, EveryKindIsReadBackAsItWasWritten) {
  for (const ScheduleKind& kind : schedule_kinds())
    for (const int microbatches : {1, 5, 8}) {
      Schedule schedule = make_schedule(kind.name, 4, kind.most_chunks == 1 ? 1 : 2, microbatches);
      schedule.kind = "custom";
      EXPECT_EQ(parse_schedule_csv(to_csv(schedule), "a.csv"), schedule) << kind.name;
    }
}

// As csv.writer writes it: \r\n, and empty cells for steps in which a rank is idle.
TEST(ScheduleCsv, ReadsWhatPyTorchWrites) {
  const Schedule schedule = parse_schedule_csv(
      "0F0,0F1,,,0I0,0W0,0B1\r\n"
      ",1F0,1B0,1F1,1I1,1W1\r\n",
      "a.csv");
  EXPECT_EQ(schedule.ranks, 2);
  EXPECT_EQ(schedule.chunks, 1);
  EXPECT_EQ(schedule.microbatches, 2);
  EXPECT_EQ(to_csv(schedule), "0F0,0F1,0I0,0W0,0B1\n1F0,1B0,1F1,1I1,1W1\n");
}

TEST(ScheduleCsv, FindsWhoHoldsAStage) {
  EXPECT_EQ(parse_schedule_csv("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", "a.csv").rank_of_stage,
            (std::vector<int>{0, 1, 1, 0}));
}

TEST(ScheduleCsv, NamesTheLineOfACellThatIsNoAction) {
  for (const char* cell : {"0X0", "F0", "0F", "0F-1", "0F0x", "1SEND_F0", "0UNSHARD", "99999999F0"})
    EXPECT_EQ(error_of(fmt::format("0F0,0B0\n1F0,{}\n", cell)),
              fmt::format("a.csv:2 {} is not an action", cell));
}

TEST(ScheduleCsv, RefusesWhatIsNoSchedule) {
  EXPECT_EQ(error_of(" \n"), "a.csv the schedule has no actions");
  EXPECT_EQ(error_of("0F0,0B0\n2F0,2B0\n"), "a.csv no rank runs stage 1, but there is a stage 2");
  EXPECT_EQ(error_of("0F0,0B0,2F0,2B0\n1F0,1B0\n"), "a.csv rank 1 has 1 stages, but rank 0 has 2");
  EXPECT_EQ(error_of("0F0,0B0\n1F0,1B0,0F1\n"), "a.csv rank 1 runs 0F1, but stage 0 is on rank 0");
  EXPECT_EQ(error_of("0F0,0F9,0B9\n"), "a.csv rank 0 never runs 0B0");
}

}  // namespace
}  // namespace tessera
