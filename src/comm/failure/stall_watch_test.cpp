// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/stall_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace tessera {
namespace {

using std::chrono::milliseconds;

struct Watched {
  std::atomic<int64_t> moves = 0;
  std::atomic<int> stalls = 0;
  StallWatch watch{0.1, [this] { return moves.load(); }, [this] { ++stalls; }};

  // Until there was a stall, for up to ten seconds.
  void await_stall() const {
    for (int i = 0; i < 1000 && stalls == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  }
};

TEST(StallWatch, CallsOnceWhenNothingMoves) {
  Watched watched;
  watched.watch.begin();
  watched.await_stall();
  std::this_thread::sleep_for(milliseconds(250));
  EXPECT_EQ(watched.stalls, 1);
}

TEST(StallWatch, IsSilentOutsideOfWork) {
  Watched watched;
  for (int i = 0; i < 3; ++i) {
    watched.watch.begin();
    watched.watch.end();
    std::this_thread::sleep_for(milliseconds(150));
  }
  EXPECT_EQ(watched.stalls, 0);
}

// Together the moves take longer than the deadline.
TEST(StallWatch, CountsFromTheLastMove) {
  Watched watched;
  watched.watch.begin();
  for (int i = 0; i < 40; ++i) {
    ++watched.moves;
    std::this_thread::sleep_for(milliseconds(5));
  }
  const int while_moving = watched.stalls;
  watched.await_stall();
  EXPECT_EQ(while_moving, 0);
  EXPECT_EQ(watched.stalls, 1);
}

}  // namespace
}  // namespace tessera
