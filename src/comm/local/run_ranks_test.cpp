// SPDX-License-Identifier: Apache-2.0
#include "comm/local/run_ranks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <numeric>
#include <thread>

#include "comm/failure/peer_error.h"
#include "comm/local/local_report.h"

namespace tessera {
namespace {

std::vector<int> all_ranks(const RankWorld& world) {
  std::vector<int> all(static_cast<size_t>(world.size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(RunRanks, RunsTheBodyOncePerRank) {
  std::atomic<int> seen{0};
  run_ranks(5, [&](RankWorld& world) {
    EXPECT_EQ(world.size(), 5);
    seen += 1 << world.rank();
  });
  EXPECT_EQ(seen, 31);
}

TEST(RunRanks, GivesTheCallerTheFirstCauseAndNotWhatFollowedFromIt) {
  try {
    run_ranks(4, [](RankWorld& world) {
      if (world.rank() == 2) throw user_error("no such file: x.bin").help("give another");
      world.group(all_ranks(world), "all")->run({.kind = CollectiveKind::Barrier, .name = "b"});
    });
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "no such file: x.bin");
    EXPECT_EQ(error.advice(), "give another");
  }
}

TEST(RunRanks, AKilledProcessIsNamedWithItsSignal) {
  LocalHub hub({.ranks = 3, .deadline_seconds = 30, .processes = true});
  try {
    run_ranks(hub, [](RankWorld& world) {
      const auto group = world.group(all_ranks(world), "all");
      group->run({.kind = CollectiveKind::Barrier, .name = "first"});
      if (world.rank() == 1) raise(SIGKILL);
      group->run({.kind = CollectiveKind::Barrier, .name = "second"});
    });
    FAIL() << "nothing was thrown";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.guilty_rank(), 1);
    EXPECT_STREQ(error.what(), "rank 1 was ended by signal 9 (Killed)");
  }
}

TEST(RunRanks, AProcessThatNeverEndsIsKilledAfterTheGrace) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(run_ranks(2,
                         [](RankWorld& world) {
                           while (world.rank() == 1)
                             std::this_thread::sleep_for(std::chrono::seconds(1));
                           throw std::runtime_error("rank 0 gives up");
                         },
                         {.processes = true, .grace_seconds = 0.3}),
               PeerError);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(RunRanksDeathTest, AThreadThatNeverEndsTakesTheProcessWithItAndIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_ranks(2,
                        [](RankWorld& world) {
                          while (world.rank() == 1)
                            std::this_thread::sleep_for(std::chrono::seconds(1));
                          world.group(all_ranks(world), "all")
                              ->run({.kind = CollectiveKind::Barrier, .name = "end"});
                        },
                        {.deadline_seconds = 0.2, .grace_seconds = 0.2}),
              testing::ExitedWithCode(kPeerExitStatus),
              "rank 0/2: barrier #0 end over all=.0,1.: no reply from rank 1");
}

void never_end_as_rank_1(RankWorld& world) {
  while (world.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(1));
}

TEST(RunRanks, AProcessThatDoesNotFollowTheOthersToTheirEndIsNamed) {
  try {
    run_ranks(3, never_end_as_rank_1,
              {.processes = true, .deadline_seconds = 0.2, .grace_seconds = 0.1});
    FAIL() << "nothing was thrown";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.guilty_rank(), 1);
    EXPECT_STREQ(error.what(), "rank 1 does not end, 0.2 s after the first that did");
  }
}

TEST(RunRanksDeathTest, AThreadThatDoesNotFollowTheOthersToTheirEndIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_ranks(3, never_end_as_rank_1, {.deadline_seconds = 0.2, .grace_seconds = 0.1}),
              testing::ExitedWithCode(kPeerExitStatus),
              "rank 1 does not end, 0.2 s after the first");
}

TEST(RunRanks, SixtyFourThreadsShareAFewCores) {
  run_ranks(64, [](RankWorld& world) {
    std::vector<float> data(5000, static_cast<float>(world.rank()));
    const auto group = world.group(all_ranks(world), "all");
    for (int i = 0; i < 3; ++i) {
      auto* bytes = reinterpret_cast<std::byte*>(data.data());
      group->run({.kind = CollectiveKind::AllReduce,
                  .reduction = Reduction::Max,
                  .input = bytes,
                  .input_parts = contiguous_parts(5000),
                  .output = bytes,
                  .output_parts = contiguous_parts(5000),
                  .name = "max"});
    }
    EXPECT_EQ(data, std::vector<float>(5000, 63.0f));
  });
}

TEST(RunRanks, ForkedRanksKeepTheHelpOfAnError) {
  LocalHub hub({.ranks = 2, .processes = true});
  try {
    run_ranks(hub, [](RankWorld& world) {
      if (world.rank() == 1)
        throw user_error("no such file: x.bin").at("data.path").help("another");
    });
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "no such file: x.bin");
    EXPECT_EQ(error.place(), "data.path");
    EXPECT_EQ(error.advice(), "another");
  }
}

bool alive(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  return std::getline(file, text) && text.find(") Z") == std::string::npos;
}

TEST(RunRanks, ForkedRanksDieWithTheirParent) {
  LocalHub hub({.ranks = 2, .processes = true});
  const pid_t parent = fork();
  if (parent == 0) {
    run_ranks(hub, [](RankWorld&) { std::this_thread::sleep_for(std::chrono::seconds(100)); });
    _exit(0);
  }
  while (hub.seat(0).process == 0 || hub.seat(1).process == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (int i = 0; i < 200 && (alive(hub.seat(0).process) || alive(hub.seat(1).process)); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(alive(hub.seat(0).process));
  EXPECT_FALSE(alive(hub.seat(1).process));
}

// Rank 2 waits for 1, which waits for 0, which is stopped: 2 is not to blame 1.
TEST(RunRanks, AStoppedProcessIsNamedByThoseThatWaitForItThroughOthers) {
  LocalHub hub({.ranks = 3, .deadline_seconds = 0.5, .processes = true});
  std::string report;
  try {
    run_ranks(
        hub,
        [](RankWorld& world) {
          world.at_step(7);
          if (world.rank() == 0) raise(SIGSTOP);
          if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
          if (world.rank() != 2)
            world.group({0, 1}, "first")->run({.kind = CollectiveKind::Barrier, .name = "a"});
          if (world.rank() != 0)
            world.group({1, 2}, "last")->run({.kind = CollectiveKind::Barrier, .name = "b"});
        },
        0.2, [&] { report = to_text(report_ranks(hub)); });
    FAIL() << "nothing was thrown";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.guilty_rank(), 0) << error.what();
    EXPECT_NE(std::string(error.what()).find("hangs on rank 0, which is stopped"),
              std::string::npos)
        << error.what();
  }
  for (const char* line : {"rank 2 waits for rank 1 in barrier #0 b over last",
                           "rank 1 waits for rank 0 in barrier #0 a over first",
                           "rank 0 waits for nobody", "rank 0 is stopped", "at step 7"})
    EXPECT_NE(report.find(line), std::string::npos) << line << " is not in:\n" << report;
}

TEST(RunRanks, TheFailureReportOfThreadsIsWrittenOnceAndNamesWhoGaveUpAndWhoIsSilent) {
  LocalHub hub({.ranks = 2, .deadline_seconds = 0.2});
  std::vector<std::string> reports;
  EXPECT_THROW(
      run_ranks(
          hub,
          [&](RankWorld& world) {
            while (world.rank() == 1 && !hub.failed())
              std::this_thread::sleep_for(std::chrono::milliseconds(5));
            if (world.rank() == 0)
              world.group({0, 1}, "all")->run({.kind = CollectiveKind::Barrier, .name = "end"});
          },
          10, [&] { reports.push_back(to_text(report_ranks(hub))); }),
      PeerError);
  ASSERT_EQ(reports.size(), 1u);
  for (const char* line : {"rank 0 waits for rank 1 in barrier #0 end over all",
                           "rank 1 waits for nobody", "rank 0 gave up"})
    EXPECT_NE(reports[0].find(line), std::string::npos) << line << " is not in:\n" << reports[0];
}

}  // namespace
}  // namespace tessera
