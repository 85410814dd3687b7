// SPDX-License-Identifier: Apache-2.0
#include "system/process.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/error.h"

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

namespace {

TEST(RequireMemory, RefusesWhatTheMachineLacksAndNothingElse) {
  require_memory(8'000'000'000, 8e9);
  require_memory(8'000'000'000, 0);  // not known
  try {
    require_memory(80'000'000'000, 25.3e9);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.message(), "this machine has 25.3 GB of memory; the plan needs 80.0 GB");
  }
}

}  // namespace

}  // namespace tessera
