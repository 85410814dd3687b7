// SPDX-License-Identifier: Apache-2.0
#include "measure/collective_bench.h"

#include <gtest/gtest.h>

#include <vector>

#include "comm/local/run_ranks.h"

namespace tessera {
namespace {

TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::ReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllToAll, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::Broadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::Send, 4), 1);
}

TEST(BenchCollective, TimesEveryKindAndCountsWholeElementsPerMember) {
  run_ranks(3, [](RankWorld& world) {
    const auto group = world.group({0, 1, 2}, "all");
    std::vector<std::byte> input(5000), output(5000);
    for (int kind = 0; kind < kNumCollectiveKinds; ++kind) {
      const auto each = static_cast<CollectiveKind>(kind);
      if (each == CollectiveKind::Recv || each == CollectiveKind::Barrier || moves_rows(each))
        continue;
      const CollectiveTiming timing =
          bench_collective(*group, {.kind = each, .bytes = 5000, .measured_seconds = 0.001},
                           input.data(), output.data());
      const bool parts = bus_factor(each, 3) < 1;
      EXPECT_EQ(timing.bytes, parts ? 4992 : 5000) << name(each);
      EXPECT_GT(timing.seconds, 0) << name(each);
      EXPECT_GE(timing.iterations, 2) << name(each);
    }
  });
}

}  // namespace
}  // namespace tessera
