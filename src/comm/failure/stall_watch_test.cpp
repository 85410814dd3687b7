// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/stall_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace tessera {
namespace {

using std::chrono::milliseconds;

// A busy machine may stop the test for longer than the deadline, and the watch is right to say so:
// then it is tried again.
constexpr int kTries = 200;

class Pauses {
 public:
  void look() {
    const auto now = std::chrono::steady_clock::now();
    longest_ = std::max(longest_, now - last_);
    last_ = now;
  }
  bool are_short() const { return longest_ < milliseconds(50); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration longest_{};
};

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
  int seen = 0;
  for (int i = 0; i < kTries && seen < 3; ++i) {
    Watched watched;
    Pauses pauses;
    watched.watch.begin();
    watched.watch.end();
    pauses.look();
    std::this_thread::sleep_for(milliseconds(150));
    if (!pauses.are_short()) continue;
    ++seen;
    EXPECT_EQ(watched.stalls, 0);
  }
  EXPECT_EQ(seen, 3);
}

// Together the moves take longer than the deadline.
TEST(StallWatch, CountsFromTheLastMove) {
  for (int tries = 0; tries < kTries; ++tries) {
    Watched watched;
    Pauses pauses;
    watched.watch.begin();
    for (int i = 0; i < 40; ++i) {
      ++watched.moves;
      std::this_thread::sleep_for(milliseconds(5));
      pauses.look();
    }
    const int while_moving = watched.stalls;
    if (!pauses.are_short()) continue;
    watched.await_stall();
    EXPECT_EQ(while_moving, 0);
    EXPECT_EQ(watched.stalls, 1);
    return;
  }
  FAIL() << "never without a pause";
}

}  // namespace
}  // namespace tessera
