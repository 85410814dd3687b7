// SPDX-License-Identifier: Apache-2.0
#include "mesh/fewer_ranks.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(FewerRanks, HalvesDataParallelRanksFirstAndEndsWithOneRank) {
  std::optional<Mesh> mesh = Mesh({{"pp", 2}, {"dp", 4}, {"tp", 3}});
  std::vector<std::string> seen;
  while ((mesh = fewer_ranks(*mesh))) seen.push_back(to_string(*mesh));
  EXPECT_EQ(seen, (std::vector<std::string>{"pp=2,dp=2,tp=3", "pp=2,tp=3", "pp=2", "1"}));
}

TEST(FewerRanks, KeepsADivisor) {
  EXPECT_EQ(fewer_ranks(Mesh({{"dp", 9}}))->num_ranks(), 3);
  EXPECT_EQ(fewer_ranks(Mesh({{"dp", 7}}))->num_ranks(), 1);
}

}  // namespace
}  // namespace tessera
