// SPDX-License-Identifier: Apache-2.0
#include "train/launch_fingerprint.h"

#include <gtest/gtest.h>

#include "comm/local/run_ranks.h"
#include "core/error.h"

namespace tessera {
namespace {

// The error when rank 2 of 4 was launched in another way.
std::string error_of(const LaunchFingerprint& usual, const LaunchFingerprint& other) {
  try {
    run_ranks(4, [&](RankWorld& world) {
      require_identical_launch(world, world.rank() == 2 ? other : usual);
    });
  } catch (const UserError& error) {
    return error.message();
  }
  return "nothing";
}

TEST(LaunchFingerprint, AcceptsIdenticalLaunches) {
  const LaunchFingerprint facts = fingerprint_launch("[train]\nseed = 1\n");
  EXPECT_EQ(facts.program.size(), 16u);
  run_ranks(3, [&](RankWorld& world) { require_identical_launch(world, facts); });
}

TEST(LaunchFingerprint, NamesTheRankWithAnotherConfigAndTheKey) {
  EXPECT_EQ(
      error_of({"[train]\nsteps = 8\nseed = 1\n", "7"}, {"[train]\nsteps = 8\nseed = 2\n", "7"}),
      "rank 2 was started with another config than rank 0: [train] seed = 2, not seed = 1");
}

TEST(LaunchFingerprint, NamesTheRankWithAnotherBinary) {
  EXPECT_EQ(error_of({"a", "7"}, {"a", "8"}), "rank 2 runs another tessera than rank 0");
}

}  // namespace
}  // namespace tessera
