// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/story_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

StoryPart waiting(int rank, int for_rank) {
  StoryPart part{.rank = rank, .ranks = 4};
  part.story.step = 7;
  part.story.waits = {{for_rank, "all_reduce #3 grad(w1) over dp", 1.5}};
  part.story.last = {"all_reduce #3 grad(w1) over dp: started 1.500 s ago, in flight"};
  return part;
}

class StoryFolder : public testing::Test {
 protected:
  StoryFolder() { open_story(run_); }
  std::string told() const { return read_text(run_ / "failure.txt"); }
  std::string first_line() const { return told().substr(0, told().find('\n')); }

  TemporaryFolder folder_;
  const std::filesystem::path run_ = folder_.path() / "run";
};

TEST_F(StoryFolder, NamesARankThatLeftNothingFromWhatOthersWaitFor) {
  StoryPart late = waiting(2, 0);
  late.error = "rank 2/4: no reply from rank 0 for 2 s";
  late.guilty = 0;
  late.first = true;
  leave_part(run_, waiting(3, 1));
  leave_part(run_, late);
  leave_part(run_, waiting(0, 1));
  tell_left_story(run_);
  EXPECT_EQ(first_line(),
            "rank 2/4: no reply from rank 0 for 2 s; all of it hangs on rank 1, which left "
            "nothing: it was killed, stopped or cut off");
  for (const char* line :
       {"  rank 0 waits for rank 1 in all_reduce #3 grad(w1) over dp, for 1.5 s\n",
        "  rank 2 waits for rank 0 in", "  rank 1 left nothing: it was killed",
        "  rank 3 runs, at step 7\n    all_reduce #3 grad(w1) over dp: started"})
    EXPECT_NE(told().find(line), std::string::npos) << line << " is not in:\n" << told();
}

TEST_F(StoryFolder, OpensWithWhoFailedFirstAndNotWithWhoWasStoppedByIt) {
  StoryPart first{.rank = 3, .ranks = 4, .time_ms = 20, .error = "the disk is full", .guilty = 3};
  first.first = true;
  StoryPart second = waiting(0, 3);
  second.time_ms = 10;  // of a clock that is behind
  second.error = "stopped because rank 3 failed";
  second.guilty = 3;
  leave_part(run_, first);
  leave_part(run_, second);
  tell_left_story(run_);
  EXPECT_EQ(first_line(), "the disk is full");
}

TEST(RankStory, InACircleTheOneThatMostRanksWaitForIsToBlame) {
  // Rank 3 is cut off: it waits for rank 0, and all others wait for it, rank 0 for rank 1 too.
  std::vector<RankStory> ranks(4);
  ranks[0].waits = {{3, "broadcast", 2.0}, {1, "all_reduce", 2.0}};
  ranks[1].waits = ranks[2].waits = {{3, "all_reduce", 2.3}};
  ranks[3].waits = {{0, "all_reduce", 2.0}};
  EXPECT_EQ(first_to_blame(ranks, /*silent=*/1, /*asking=*/0), 3);
}

TEST_F(StoryFolder, IsToldOnceAndTakesNoPartThatComesLater) {
  leave_part(run_, waiting(2, 1));
  tell_left_story(run_);
  const std::string before = told();
  leave_part(run_, waiting(0, 3));
  tell_left_story(run_);
  EXPECT_EQ(told(), before);
  EXPECT_FALSE(std::filesystem::exists(run_ / "story"));
}

TEST_F(StoryFolder, IsToldAtTheNextStartWhereNobodyElseCould) {
  leave_part(run_, waiting(0, 1));
  open_story(run_);
  EXPECT_NE(first_line().find("hangs on rank 1"), std::string::npos) << told();
  EXPECT_TRUE(std::filesystem::is_empty(run_ / "story"));
}

TEST_F(StoryFolder, IsToldByWhoeverIsLeftWhereTheRankThatToldItWasKilled) {
  leave_part(run_, waiting(0, 1));
  std::filesystem::rename(run_ / "story", run_ / "story.tmp");  // as that rank had done
  tell_left_story(run_);
  EXPECT_NE(first_line().find("hangs on rank 1"), std::string::npos) << told();
  EXPECT_FALSE(std::filesystem::exists(run_ / "story.tmp"));
}

TEST_F(StoryFolder, RanksThatComeSecondWaitUntilItIsTold) {
  leave_part(run_, waiting(0, 1));
  std::filesystem::rename(run_ / "story", run_ / "story.tmp");
  std::atomic<bool> over = false;
  std::thread first([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    over = true;
    tell_left_story(run_);
  });
  tell_story_together(run_);
  EXPECT_TRUE(over);
  first.join();
  EXPECT_NE(first_line().find("hangs on rank 1"), std::string::npos) << told();
}

TEST_F(StoryFolder, DoesNotTellOfBadInputOrOfARunThatEndedWell) {
  StoryPart wrong{.rank = 0, .ranks = 1, .error = "no such file"};
  wrong.bad_input = true;
  leave_part(run_, wrong);
  tell_left_story(run_);
  EXPECT_FALSE(std::filesystem::exists(run_ / "failure.txt"));
  open_story(run_);
  leave_part(run_, waiting(0, 1));
  close_story(run_);
  tell_left_story(run_);
  EXPECT_TRUE(std::filesystem::is_empty(run_));
}

}  // namespace
}  // namespace tessera
