// SPDX-License-Identifier: Apache-2.0
#include "system/process_age.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tessera {
namespace {

TEST(ProcessAge, GrowsWithTheClockFromTheStart) {
  const double before = process_age_seconds();
  EXPECT_GE(before, 0);
  EXPECT_LT(before, 3600);  // of a test's process
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_GE(process_age_seconds(), before + 0.02);
}

}  // namespace
}  // namespace tessera
