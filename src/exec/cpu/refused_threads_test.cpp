// SPDX-License-Identifier: Apache-2.0
// Where the system starts only a few threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "comm/local/local_hub.h"
#include "comm/local/run_ranks.h"
#include "core/error.h"
#include "core/testing/few_threads.h"
#include "exec/cpu/thread_pool.h"
#include "system/threads.h"

namespace tessera {
namespace {

constexpr const char* kRefused =
    "the system started only [1-5] of 63 more threads\n help: use fewer";

// Ends well if it throws what the user is told, which is printed.
template <typename Work>
[[noreturn]] void expect_refusal(const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    std::fputs(error.report().c_str(), stderr);
    std::_Exit(0);
  }
  std::_Exit(1);
}

class RefusedThreadsDeathTest : public testing::Test {
 protected:
  RefusedThreadsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST(StartThreads, RunsEachBodyOnce) {
  std::atomic<int> seen{0};
  for (std::thread& thread : start_threads(5, [&](int i) { seen += 1 << i; })) thread.join();
  EXPECT_EQ(seen, 31);
}

TEST_F(RefusedThreadsDeathTest, RunNoBodyAtAll) {
  EXPECT_EXIT(expect_refusal([] {
                leave_room_for_stacks(3.5);
                start_threads(63, [](int) { std::_Exit(2); });
              }),
              testing::ExitedWithCode(0), kRefused);
}

TEST_F(RefusedThreadsDeathTest, OfAPoolAreTheUsersToAllow) {
  EXPECT_EXIT(expect_refusal([] {
                leave_room_for_stacks(3.5);
                const ThreadPool pool(64);
              }),
              testing::ExitedWithCode(0), kRefused);
}

TEST_F(RefusedThreadsDeathTest, LeaveTheWorkToThoseThatAreThere) {
  EXPECT_EXIT(
      {
        std::vector<int> done(1000);
        leave_room_for_stacks(3.5);
        run_parts(done.size(), 64, [&](size_t part, size_t) { ++done[part]; });
        std::_Exit(done == std::vector<int>(1000, 1) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(RefusedThreadsDeathTest, ThatAreSingleAreTheUsersToAllow) {
  EXPECT_EXIT(expect_refusal([] {
                leave_room_for_stacks(0.5);
                start_thread([] { std::_Exit(2); }).join();
              }),
              testing::ExitedWithCode(0), "the system started only 0 of 1 more threads\n help: ");
}

TEST_F(RefusedThreadsDeathTest, OfRanksAreTheUsersToAllow) {
  EXPECT_EXIT(expect_refusal([] {
                LocalHub hub({.ranks = 63});
                leave_room_for_stacks(3.5);
                run_ranks(hub, [](RankWorld&) { std::_Exit(2); });
              }),
              testing::ExitedWithCode(0), kRefused);
}

}  // namespace
}  // namespace tessera
