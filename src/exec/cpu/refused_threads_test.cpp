// SPDX-License-Identifier: Apache-2.0
// Where the system starts only a few threads: address space for their stacks is what it is denied
// here, because a limit of processes is none for root.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "comm/local/local_hub.h"
#include "comm/local/run_ranks.h"
#include "core/error.h"
#include "core/start_threads.h"
#include "exec/cpu/thread_pool.h"

namespace tessera {
namespace {

constexpr const char* kRefused = "of 63 more threads the system starts [1-5]\n help: use fewer";

// Room for the stacks of about three more.
void allow_few_threads() {
  pthread_attr_t attributes;
  size_t stack_bytes = 0, pages = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &stack_bytes);
  pthread_attr_destroy(&attributes);
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + stack_bytes * 7 / 2;
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(1);
}

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
                allow_few_threads();
                start_threads(63, [](int) { std::_Exit(2); });
              }),
              testing::ExitedWithCode(0), kRefused);
}

TEST_F(RefusedThreadsDeathTest, OfAPoolAreTheUsersToAllow) {
  EXPECT_EXIT(expect_refusal([] {
                allow_few_threads();
                const ThreadPool pool(64);
              }),
              testing::ExitedWithCode(0), kRefused);
}

TEST_F(RefusedThreadsDeathTest, OfRanksAreTheUsersToAllow) {
  EXPECT_EXIT(expect_refusal([] {
                LocalHub hub({.ranks = 63});
                allow_few_threads();
                run_ranks(hub, [](RankWorld&) { std::_Exit(2); });
              }),
              testing::ExitedWithCode(0), kRefused);
}

}  // namespace
}  // namespace tessera
