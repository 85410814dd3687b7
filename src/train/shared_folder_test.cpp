// SPDX-License-Identifier: Apache-2.0
#include "train/shared_folder.h"

#include <gtest/gtest.h>

#include "comm/local/run_ranks.h"
#include "core/error.h"
#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

TEST(SharedFolder, IsSilentAndLeavesNothingWhereAllSeeIt) {
  const TemporaryFolder folder;
  run_ranks(3, [&](RankWorld& world) { require_shared_folder(world, folder.path()); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SharedFolder, NamesTheRanksThatSeeAnotherFolder) {
  const TemporaryFolder folder, elsewhere;
  std::string told;
  try {
    run_ranks(4, [&](RankWorld& world) {
      require_shared_folder(world, world.rank() % 2 == 0 ? folder.path() : elsewhere.path(), 0);
    });
  } catch (const UserError& error) {
    told = error.message();
  }
  EXPECT_NE(told.find("ranks 1, 3 (on "), std::string::npos) << told;
  EXPECT_NE(told.find(folder.path().string()), std::string::npos) << told;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tessera
