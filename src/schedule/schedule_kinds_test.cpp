// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule_kinds.h"

#include <gtest/gtest.h>

#include "core/choices.h"
#include "core/error.h"
#include "schedule/check_schedule.h"

namespace tessera {
namespace {

std::string row(const Schedule& schedule, int rank) {
  std::string text;
  for (const Action& action : schedule.actions[static_cast<size_t>(rank)]) {
    if (!text.empty()) text += ' ';
    text += to_string(action);
  }
  return text;
}

TEST(ScheduleKinds, AreValidForAnyRanksChunksAndMicrobatches) {
  for (const ScheduleKind& kind : schedule_kinds())
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (int chunks = kind.least_chunks; chunks <= std::max(3, kind.least_chunks); ++chunks)
        for (int microbatches = 1; microbatches <= 14; ++microbatches) {
          if (!kind.takes_chunks(chunks)) continue;
          SCOPED_TRACE(fmt::format("{} ranks {} chunks {} microbatches {}", kind.name, ranks,
                                   chunks, microbatches));
          const Schedule schedule = make_schedule(kind.name, ranks, chunks, microbatches);
          EXPECT_EQ(schedule.kind, kind.name);
          EXPECT_EQ(schedule.num_stages(), ranks * chunks);
          EXPECT_EQ(splits_backward(schedule), kind.splits_backward);
          EXPECT_EQ(schedule.microbatches, microbatches);
          EXPECT_NO_THROW(check_schedule(schedule));
        }
}

TEST(Gpipe, RunsAllForwardsFirst) {
  EXPECT_EQ(row(make_schedule("gpipe", 2, 1, 3), 1), "1F0 1F1 1F2 1B0 1B1 1B2");
}

TEST(OneFOneB, TakesTurnsBehindTheForwardsAhead) {
  const Schedule schedule = make_schedule("1f1b", 3, 1, 4);
  EXPECT_EQ(row(schedule, 0), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(row(schedule, 2), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
}

TEST(Interleaved1f1b, SendsAGroupThroughEveryChunkBeforeTheNext) {
  EXPECT_EQ(row(make_schedule("interleaved_1f1b", 2, 2, 4), 1),
            "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3");
}

TEST(LoopedBfs, SendsAllMicrobatchesThroughAChunkBeforeTheNext) {
  EXPECT_EQ(row(make_schedule("looped_bfs", 2, 2, 2), 0), "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
}

TEST(ZbH1, PutsWeightGradientsOffByTheRank) {
  const Schedule schedule = make_schedule("zb_h1", 2, 1, 3);
  EXPECT_EQ(row(schedule, 0), "0F0 0F1 0I0 0W0 0F2 0I1 0W1 0I2 0W2");
  EXPECT_EQ(row(schedule, 1), "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2");
}

TEST(ZbH2, RunsTwiceAsManyForwardsAhead) {
  EXPECT_EQ(row(make_schedule("zb_h2", 2, 1, 4), 0),
            "0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3");
}

TEST(ZbV, FoldsBackToTheFirstRank) {
  const Schedule schedule = make_schedule("zb_v", 3, 2, 1);
  EXPECT_EQ(schedule.rank_of_stage, (std::vector<int>{0, 1, 2, 2, 1, 0}));
  EXPECT_EQ(row(schedule, 0), "0F0 5F0 5I0 5W0 0I0 0W0");
}

std::string error_of(std::string_view kind, int ranks, int chunks, int microbatches) {
  try {
    make_schedule(kind, ranks, chunks, microbatches);
  } catch (const UserError& error) {
    return error.message() + " / " + error.advice();
  }
  return "no error";
}

TEST(MakeSchedule, SaysWhatWouldWork) {
  EXPECT_EQ(error_of("1f1f", 2, 1, 2),
            "there is no schedule 1f1f: did you mean 1f1b? / `tessera schedule --help` lists all "
            "kinds");
  std::vector<std::string> names;
  for (const ScheduleKind& kind : schedule_kinds()) names.emplace_back(kind.name);
  EXPECT_EQ(error_of("triangle", 2, 1, 2),
            "there is no schedule triangle / use " + join_choices(names));
  EXPECT_EQ(error_of("gpipe", 2, 3, 2),
            "schedule gpipe has 1 chunk per rank, not 3 / use chunks = 1, or interleaved_1f1b or "
            "looped_bfs, which take any");
  EXPECT_EQ(error_of("zb_v", 2, 1, 2),
            "schedule zb_v has 2 chunks per rank, not 1 / use chunks = 2, or interleaved_1f1b or "
            "looped_bfs, which take any");
  EXPECT_EQ(error_of("1f1b", 0, 1, 2), "schedule 1f1b over 0 ranks / use 1 or more ranks");
  EXPECT_EQ(error_of("1f1b", 4, 1, -2),
            "schedule 1f1b over -2 microbatches / use 1 or more microbatches");
  EXPECT_EQ(error_of("gpipe", 1024, 1, 1 << 30),
            "a schedule of 1024 ranks, 1 chunks and 1073741824 microbatches is too long to list / "
            "use at most 341 microbatches");
}

}  // namespace
}  // namespace tessera
