// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <vector>

namespace tessera {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(tasks));
      pool.run(tasks, [&](int64_t task, int worker) {
        ASSERT_GE(worker, 0);
        ASSERT_LT(worker, threads);
        counts[static_cast<size_t>(task)] += 1;
      });
      for (const auto& count : counts) ASSERT_EQ(count, 1) << tasks << " tasks on " << threads;
    }
  }
}

// A worker that comes late to a short run must not take a task of the longer one just being set up.
TEST(ThreadPool, RunsEveryTaskOnceWhenShortAndLongRunsAlternate) {
  ThreadPool pool(3);
  std::atomic<int64_t> done{0};
  int64_t expected = 0;
  for (int round = 0; round < 100'000; ++round) {
    const int64_t tasks = 2 + 3 * (round % 3);
    pool.run(tasks, [&](int64_t task, int) { done += task < tasks ? 1 : 1'000'000'000; });
    expected += tasks;
    ASSERT_EQ(done, expected) << "round " << round;
  }
}

TEST(ThreadPool, CoversARangeInPiecesOfTheGrain) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> counts(1001);
  pool.run_ranges(1001, 100, [&](int64_t begin, int64_t end, int) {
    EXPECT_EQ(begin % 100, 0);
    EXPECT_TRUE(end - begin == 100 || end == 1001);
    for (int64_t i = begin; i < end; ++i) counts[static_cast<size_t>(i)] += 1;
  });
  for (const auto& count : counts) ASSERT_EQ(count, 1);
}

// A worker never has two tasks at a time: its part of a workspace is its own.
TEST(ThreadPool, GivesAWorkerOneTaskAtATime) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  pool.run(500, [&](int64_t, int worker) {
    EXPECT_EQ(inside[static_cast<size_t>(worker)].fetch_add(1), 0);
    std::this_thread::yield();
    inside[static_cast<size_t>(worker)].fetch_sub(1);
  });
}

// What one run wrote, the next one reads without further ceremony, also after the workers slept.
TEST(ThreadPool, EndsARunBeforeTheNextBegins) {
  ThreadPool pool(4);
  constexpr size_t kCount = 64, kRounds = 4000;
  std::vector<size_t> current(kCount, 0), next(kCount);
  for (size_t round = 0; round < kRounds; ++round) {
    pool.run(kCount, [&](int64_t task, int) {
      const auto at = static_cast<size_t>(task);
      next[at] = current[(at + 17) % kCount] + 1;
    });
    std::swap(current, next);
    if (round % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (const size_t value : current) EXPECT_EQ(value, kRounds);
}

TEST(ThreadPool, ThrowsWhatATaskThrowsAndGoesOn) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::atomic<int> finished = 0;
    EXPECT_THROW(pool.run(50,
                          [&](int64_t task, int) {
                            if (task % 10 == 3) throw std::runtime_error("task");
                            ++finished;
                          }),
                 std::runtime_error);
    EXPECT_LE(finished, 45);
    finished = 0;
    pool.run(50, [&](int64_t, int) { ++finished; });
    EXPECT_EQ(finished, 50);
  }
}

}  // namespace
}  // namespace tessera
