// SPDX-License-Identifier: Apache-2.0
#include "passes/memory/place_intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/random.h"
#include "ir/memory.h"

namespace tessera {
namespace {

bool together(const Interval& a, const Interval& b) { return a.begin <= b.end && b.begin <= a.end; }

bool overlapping(const Interval& a, const Interval& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// The most bytes alive at one time: a lower bound for every layout.
int64_t live_maximum(const std::vector<Interval>& intervals) {
  std::map<int, int64_t> change;
  for (const Interval& interval : intervals) {
    change[interval.begin] += align_up(interval.bytes);
    change[interval.end + 1] -= align_up(interval.bytes);
  }
  int64_t live = 0, most = 0;
  for (const auto& [time, bytes] : change) most = std::max(most, live += bytes);
  return most;
}

std::vector<Interval> random_intervals(uint64_t seed) {
  const RandomStream random(seed, "intervals");
  std::vector<Interval> intervals;
  const uint64_t count = 1 + random.below(0, 60);
  for (uint64_t i = 0; i < count; ++i) {
    const int begin = static_cast<int>(random.below(3 * i + 1, 30));
    const int end = begin + static_cast<int>(random.below(3 * i + 2, 10));
    const auto bytes = static_cast<int64_t>(1 + random.below(3 * i + 3, 5000));
    intervals.push_back({.begin = begin, .end = end, .bytes = bytes, .offset = -1});
  }
  return intervals;
}

TEST(PlaceIntervals, NothingAliveTogetherSharesBytes) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<Interval> intervals = random_intervals(seed);
    const int64_t total = place_intervals(intervals);
    EXPECT_GE(total, live_maximum(intervals));
    int64_t highest = 0;
    for (size_t a = 0; a < intervals.size(); ++a) {
      EXPECT_GE(intervals[a].offset, 0);
      EXPECT_EQ(intervals[a].offset % kBufferAlignment, 0);
      highest = std::max(highest, intervals[a].offset + align_up(intervals[a].bytes));
      for (size_t b = 0; b < a; ++b)
        EXPECT_FALSE(together(intervals[a], intervals[b]) &&
                     overlapping(intervals[a], intervals[b]))
            << "seed " << seed << ": " << a << " and " << b;
    }
    EXPECT_EQ(total, highest) << "seed " << seed;
  }
}

TEST(PlaceIntervals, TheSameIntervalsGetTheSamePlaces) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<Interval> once = random_intervals(seed), again = random_intervals(seed);
    EXPECT_EQ(place_intervals(once), place_intervals(again));
    for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].offset, again[i].offset);
  }
}

TEST(PlaceIntervals, StaysNearTheLiveMaximum) {
  double worst = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<Interval> intervals = random_intervals(seed);
    const auto total = static_cast<double>(place_intervals(intervals));
    worst = std::max(worst, total / static_cast<double>(live_maximum(intervals)));
  }
  EXPECT_LT(worst, 1.5);
}

TEST(PlaceIntervals, NeighboursInTimeThatDoNotMeetShareOnePlace) {
  std::vector<Interval> intervals{{.begin = 0, .end = 1, .bytes = 100},
                                  {.begin = 2, .end = 3, .bytes = 128}};
  EXPECT_EQ(place_intervals(intervals), 128);
  EXPECT_EQ(intervals[0].offset, 0);
  EXPECT_EQ(intervals[1].offset, 0);
}

TEST(PlaceIntervals, EndsAreInclusive) {
  std::vector<Interval> intervals{{.begin = 0, .end = 2, .bytes = 64},
                                  {.begin = 2, .end = 3, .bytes = 64}};
  EXPECT_EQ(place_intervals(intervals), 128);
}

TEST(PlaceIntervals, ASmallOneFitsTheGapBetweenLargeOnes) {
  // The 256 dies at 2, so that from then on the 64 fits below the 192.
  std::vector<Interval> intervals{{.begin = 0, .end = 1, .bytes = 256},
                                  {.begin = 0, .end = 5, .bytes = 192},
                                  {.begin = 2, .end = 5, .bytes = 64}};
  EXPECT_EQ(place_intervals(intervals), 448);
  EXPECT_EQ(intervals[1].offset, 256);
  EXPECT_EQ(intervals[2].offset, 0);
}

TEST(PlaceIntervals, NothingNeedsNoBytes) {
  std::vector<Interval> none;
  EXPECT_EQ(place_intervals(none), 0);
}

}  // namespace
}  // namespace tessera
