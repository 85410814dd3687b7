// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/report_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

FiledReport waiting(int rank, int for_rank) {
  FiledReport filed{.rank = rank, .ranks = 4};
  filed.report.step = 7;
  filed.report.waits = {{for_rank, "all_reduce #3 grad(w1) over dp", 1.5}};
  filed.report.last = {"all_reduce #3 grad(w1) over dp: started 1.500 s ago, in flight"};
  return filed;
}

class ReportFolder : public testing::Test {
 protected:
  ReportFolder() { open_reports(run_); }
  std::string text() const { return read_text(run_ / "failure.txt"); }
  std::string first_line() const { return text().substr(0, text().find('\n')); }

  TemporaryFolder folder_;
  const std::filesystem::path run_ = folder_.path() / "run";
};

TEST_F(ReportFolder, NamesARankWithoutAReportFromWhatOthersWaitFor) {
  FiledReport late = waiting(2, 0);
  late.error = "rank 2/4: no reply from rank 0 for 2 s";
  late.guilty = 0;
  late.first = true;
  write_report(run_, waiting(3, 1));
  write_report(run_, late);
  write_report(run_, waiting(0, 1));
  merge_reports(run_);
  EXPECT_EQ(first_line(),
            "rank 2/4: no reply from rank 0 for 2 s; all of it hangs on rank 1, which wrote "
            "no report: it was killed, stopped or cut off");
  for (const char* line :
       {"  rank 0 waits for rank 1 in all_reduce #3 grad(w1) over dp, for 1.5 s\n",
        "  rank 2 waits for rank 0 in", "  rank 1 wrote no report: it was killed",
        "  rank 3 runs, at step 7\n    all_reduce #3 grad(w1) over dp: started"})
    EXPECT_NE(text().find(line), std::string::npos) << line << " is not in:\n" << text();
}

TEST_F(ReportFolder, OpensWithWhoFailedFirstAndNotWithWhoWasStoppedByIt) {
  FiledReport first{.rank = 3, .ranks = 4, .time_ms = 20, .error = "the disk is full", .guilty = 3};
  first.first = true;
  FiledReport second = waiting(0, 3);
  second.time_ms = 10;  // of a clock that is late
  second.error = "stopped because rank 3 failed";
  second.guilty = 3;
  write_report(run_, first);
  write_report(run_, second);
  merge_reports(run_);
  EXPECT_EQ(first_line(), "the disk is full");
}

TEST(RankReport, InACircleTheOneThatMostRanksWaitForIsToBlame) {
  // Rank 3 is cut off: it waits for rank 0, and all others wait for it, rank 0 for rank 1 too.
  std::vector<RankReport> ranks(4);
  ranks[0].waits = {{3, "broadcast", 2.0}, {1, "all_reduce", 2.0}};
  ranks[1].waits = ranks[2].waits = {{3, "all_reduce", 2.3}};
  ranks[3].waits = {{0, "all_reduce", 2.0}};
  EXPECT_EQ(first_to_blame(ranks, /*silent=*/1, /*asking=*/0), 3);
}

TEST(RankReport, AHaltedRankIsToBlameAndNotTheOneThatItWaitedFor) {
  // Rank 2 was killed while it waited for rank 3, which is only slow.
  std::vector<RankReport> ranks(4);
  ranks[1].waits = {{2, "all_reduce", 2.0}};
  ranks[2] = {.life = "was killed by signal 9", .halted = true, .waits = {{3, "recv", 2.5}}};
  EXPECT_EQ(first_to_blame(ranks, /*silent=*/1, /*asking=*/0), 2);
  EXPECT_EQ(first_to_blame(ranks, /*silent=*/2, /*asking=*/0), 2);
}

TEST(RankReport, SaysWhyARankWithCollectivesInFlightWaitsForNobody) {
  std::vector<RankReport> ranks(3);
  ranks[0].last = ranks[1].last = {"all_reduce #7 over dp: started 0.001 s ago, in flight"};
  ranks[1].life = "is dead";
  const std::string text = to_text(ranks);
  for (const char* line :
       {"  rank 0 waits for nobody: it does not need yet what is in flight\n",
        "  rank 1 waits for nobody: it is dead\n", "  rank 2 waits for nobody\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << " is not in:\n" << text;
}

TEST_F(ReportFolder, AreMergedOnceAndALaterOneIsLeftOut) {
  write_report(run_, waiting(2, 1));
  merge_reports(run_);
  const std::string before = text();
  write_report(run_, waiting(0, 3));
  merge_reports(run_);
  EXPECT_EQ(text(), before);
  EXPECT_FALSE(std::filesystem::exists(run_ / kReportFolder));
}

TEST_F(ReportFolder, AreMergedAtTheNextStartWhereNobodyElseCould) {
  write_report(run_, waiting(0, 1));
  open_reports(run_);
  EXPECT_NE(first_line().find("hangs on rank 1"), std::string::npos) << text();
  EXPECT_TRUE(std::filesystem::is_empty(run_ / kReportFolder));
}

TEST_F(ReportFolder, AreMergedByAnotherProcessWhereTheRankThatBeganWasKilled) {
  write_report(run_, waiting(0, 1));
  std::filesystem::rename(run_ / kReportFolder,
                          run_ / "rank_reports.tmp");  // as that rank had done
  merge_reports(run_);
  EXPECT_NE(first_line().find("hangs on rank 1"), std::string::npos) << text();
  EXPECT_FALSE(std::filesystem::exists(run_ / "rank_reports.tmp"));
}

TEST_F(ReportFolder, RanksThatComeSecondWaitForTheFirst) {
  write_report(run_, waiting(0, 1));
  std::filesystem::rename(run_ / kReportFolder, run_ / "rank_reports.tmp");
  std::atomic<bool> over = false;
  std::thread first([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    over = true;
    merge_reports(run_);
  });
  merge_reports_once(run_);
  EXPECT_TRUE(over);
  first.join();
  EXPECT_NE(first_line().find("hangs on rank 1"), std::string::npos) << text();
}

TEST_F(ReportFolder, AreNotMergedForBadInputOrAfterARunThatSucceeded) {
  FiledReport wrong{.rank = 0, .ranks = 1, .error = "no such file"};
  wrong.bad_input = true;
  write_report(run_, wrong);
  merge_reports(run_);
  EXPECT_FALSE(std::filesystem::exists(run_ / "failure.txt"));
  open_reports(run_);
  write_report(run_, waiting(0, 1));
  discard_reports(run_);
  merge_reports(run_);
  EXPECT_TRUE(std::filesystem::is_empty(run_));
}

}  // namespace
}  // namespace tessera
