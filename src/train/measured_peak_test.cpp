// SPDX-License-Identifier: Apache-2.0
#include "train/measured_peak.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(MeasuredPeak, IsMeasuredOnceWhereWorkStaysBelowIt) {
  int calls = 0;
  MeasuredPeak peak([&] { return ++calls, 100.0; });
  for (const double reached : {0.0, 60.0, 100.0}) EXPECT_EQ(peak.above(reached), 100.0);
  EXPECT_EQ(calls, 1);
}

TEST(MeasuredPeak, IsMeasuredAgainWhereWorkWasFasterAndTheLargestCounts) {
  std::vector<double> measured{50, 40, 90, 80};
  size_t next = 0;
  MeasuredPeak peak([&] { return measured.at(next++); });
  EXPECT_EQ(peak.above(30), 50);
  EXPECT_EQ(peak.above(70), 90);
  EXPECT_EQ(next, 3u);
  EXPECT_EQ(peak.above(20), 90);
}

TEST(MeasuredPeak, GivesUpAfterAFewMeasurements) {
  int calls = 0;
  MeasuredPeak peak([&] { return ++calls, 10.0; });
  for (int step = 0; step < 100; ++step) EXPECT_EQ(peak.above(1000), 10.0);
  EXPECT_EQ(calls, MeasuredPeak::kMostMeasurements);
}

}  // namespace
}  // namespace tessera
