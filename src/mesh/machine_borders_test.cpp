// SPDX-License-Identifier: Apache-2.0
#include "mesh/machine_borders.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// Ranks in order, `each` to a machine.
std::vector<int> machines(int ranks, int each) {
  std::vector<int> found;
  for (int rank = 0; rank < ranks; ++rank) found.push_back(rank / each);
  return found;
}

TEST(TpLeavesMachine, IsSilentWhereGroupsAreNeighboursOnOneMachine) {
  EXPECT_EQ(warn_of_machine_borders(Mesh({{"dp", 2}, {"tp", 4}}), machines(8, 4)), "");
  EXPECT_EQ(warn_of_machine_borders(Mesh({{"dp", 4}, {"tp", 2}}), machines(8, 4)), "");
  EXPECT_EQ(warn_of_machine_borders(Mesh({{"dp", 8}}), machines(8, 1)), "");
  EXPECT_EQ(warn_of_machine_borders(Mesh({{"tp", 8}}), {}), "");
}

TEST(TpLeavesMachine, NamesTheRanksOfAGroupThatIsTooLarge) {
  EXPECT_EQ(warn_of_machine_borders(Mesh({{"tp", 8}}), machines(8, 4)),
            "a group of tp = 8 leaves its machine (ranks 0 and 4): its sums cross the network in "
            "every layer; machines have 4 ranks or more: make tp the last axis of the mesh, and a "
            "divisor of that");
}

TEST(TpLeavesMachine, SeesGroupsThatTheOrderOfAxesTearsApart) {
  const std::string text = warn_of_machine_borders(Mesh({{"tp", 2}, {"dp", 4}}), machines(8, 4));
  EXPECT_NE(text.find("tp = 2 leaves its machine (ranks 0 and 4)"), std::string::npos) << text;
}

TEST(TpLeavesMachine, CountsTheTwoPartsOfASplitAxisAsOne) {
  const Mesh split({{"tp.kv", 2}, {"tp.group", 2}});
  EXPECT_EQ(warn_of_machine_borders(split, machines(4, 4)), "");
  const std::string text = warn_of_machine_borders(split, machines(4, 2));
  EXPECT_NE(text.find("tp = 4 leaves its machine (ranks 0 and 2)"), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera
