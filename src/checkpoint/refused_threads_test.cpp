// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/testing/small_machine.h"
#include "core/testing/few_threads.h"
#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

TEST(SavesWithoutThreadsDeathTest, StandStillForTheWriting) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TemporaryFolder folder;
  EXPECT_EXIT(
      {
        SmallMachine machine({"mesh=dp=2", "model.layers=1"});
        machine.train_step(1);
        leave_room_for_stacks(0.5);
        const SaveOutcome outcome = save(machine, {.folder = folder.path(), .threads = 4}, 1);
        std::fputs(outcome.error.c_str(), stderr);
        std::_Exit(outcome.saved ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera
