// SPDX-License-Identifier: Apache-2.0
#include "system/resident_memory.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
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
