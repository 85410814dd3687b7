// SPDX-License-Identifier: Apache-2.0
// Ranks are threads, each of which tells for itself what it wants and where it is.
#include "train/agreement.h"

#include <gtest/gtest.h>

#include "comm/failure/peer_error.h"
#include "comm/local/run_ranks.h"

namespace tessera {
namespace {

constexpr int kRanks = 4;

TEST(Agreement, IsToStopOrToSaveWhereOneRankAsks) {
  run_ranks(kRanks, [](RankWorld& world) {
    const auto job = world.everyone("job");
    const Agreement saved = agree_on_next_step(job.get(), 7, {.save = world.rank() == 2});
    EXPECT_TRUE(saved.save && !saved.stop);
    const Agreement stopped = agree_on_next_step(job.get(), 8, {.stop = world.rank() == 3});
    EXPECT_TRUE(stopped.stop && !stopped.save);
  });
}

TEST(Agreement, NamesTheRankThatIsBehindOrAheadOfMost) {
  for (const int odd_step : {6, 8})
    run_ranks(kRanks, [&](RankWorld& world) {
      const auto job = world.everyone("job");
      try {
        agree_on_next_step(job.get(), world.rank() == 2 ? odd_step : 7, {});
        ADD_FAILURE() << "rank " << world.rank() << " goes on";
      } catch (const PeerError& error) {
        EXPECT_EQ(error.guilty_rank(), 2);
        EXPECT_EQ(error.what(), fmt::format("rank 2 is at step {}, but others are at step 7: they "
                                            "no longer train the same model",
                                            odd_step));
      }
    });
}

}  // namespace
}  // namespace tessera
