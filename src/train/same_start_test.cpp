// SPDX-License-Identifier: Apache-2.0
#include "train/same_start.h"

#include <gtest/gtest.h>

#include "comm/local/run_ranks.h"
#include "core/error.h"

namespace tessera {
namespace {

// What the caller is told when rank 2 of 4 was started in another way.
std::string told(const StartFacts& usual, const StartFacts& other) {
  try {
    run_ranks(
        4, [&](RankWorld& world) { require_same_start(world, world.rank() == 2 ? other : usual); });
  } catch (const UserError& error) {
    return error.message();
  }
  return "nothing";
}

TEST(SameStart, IsSilentWhereAllAreAlike) {
  const StartFacts facts = start_facts("[train]\nseed = 1\n");
  EXPECT_EQ(facts.program.size(), 16u);
  run_ranks(3, [&](RankWorld& world) { require_same_start(world, facts); });
}

TEST(SameStart, NamesTheRankWithAnotherConfigAndTheKey) {
  EXPECT_EQ(told({"[train]\nsteps = 8\nseed = 1\n", "7"}, {"[train]\nsteps = 8\nseed = 2\n", "7"}),
            "rank 2 was started with another config than rank 0: [train] seed = 2, not seed = 1");
}

TEST(SameStart, NamesTheRankWithAnotherBinary) {
  EXPECT_EQ(told({"a", "7"}, {"a", "8"}), "rank 2 runs another tessera than rank 0");
}

}  // namespace
}  // namespace tessera
