// SPDX-License-Identifier: Apache-2.0
#include "mesh/mesh.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "mesh/group.h"

namespace tessera {
namespace {

const Mesh kMesh({{"dp", 2}, {"cp", 3}, {"tp", 2}});

TEST(Mesh, TheLastAxisVariesFastestOverRanks) {
  EXPECT_EQ(kMesh.num_ranks(), 12);
  // Rank 7 = 1 * 6 + 0 * 2 + 1.
  EXPECT_EQ(kMesh.coordinate(7, 0), 1);
  EXPECT_EQ(kMesh.coordinate(7, 1), 0);
  EXPECT_EQ(kMesh.coordinate(7, 2), 1);
  EXPECT_EQ(kMesh.group(7, AxisIds{2}), (std::vector<int>{6, 7}));
  EXPECT_EQ(kMesh.group(7, AxisIds{1}), (std::vector<int>{7, 9, 11}));
  EXPECT_EQ(kMesh.group(7, AxisIds{0}), (std::vector<int>{1, 7}));
}

TEST(Mesh, AGroupOverSeveralAxesCountsTheirLastFastest) {
  EXPECT_EQ(kMesh.group(7, AxisIds{0, 2}), (std::vector<int>{0, 1, 6, 7}));
  EXPECT_EQ(kMesh.group(7, AxisIds{2, 0}), (std::vector<int>{0, 6, 1, 7}));
  EXPECT_EQ(kMesh.group(7, AxisIds{}), (std::vector<int>{7}));
}

TEST(Mesh, IndexIsThePlaceInTheGroup) {
  for (const AxisIds& axes : {AxisIds{}, {0}, {1}, {2}, {0, 1}, {1, 2}, {2, 0}, {0, 1, 2}})
    for (int rank = 0; rank < kMesh.num_ranks(); ++rank) {
      const std::vector<int> group = kMesh.group(rank, axes);
      ASSERT_EQ(static_cast<int>(group.size()), kMesh.size(axes));
      EXPECT_EQ(group[static_cast<size_t>(kMesh.index(rank, axes))], rank);
    }
}

TEST(Mesh, GroupsOfOneKindShareNoRankAndLeaveNoneOut) {
  for (const AxisIds& axes : {AxisIds{0}, {1}, {2}, {0, 2}, {1, 2}}) {
    std::set<std::vector<int>> groups;
    for (int rank = 0; rank < kMesh.num_ranks(); ++rank) groups.insert(kMesh.group(rank, axes));
    std::multiset<int> members;
    for (const std::vector<int>& group : groups) members.insert(group.begin(), group.end());
    EXPECT_EQ(members.size(), 12U);
    EXPECT_EQ(std::set<int>(members.begin(), members.end()).size(), 12U);
  }
}

TEST(Mesh, AxesAreWrittenAsOneWordAndReadBack) {
  EXPECT_EQ(kMesh.word({0, 2}), "dp+tp");
  EXPECT_EQ(kMesh.parse_word("dp+tp"), (AxisIds{0, 2}));
  EXPECT_EQ(kMesh.parse_word(kMesh.word({1})), AxisIds{1});
  EXPECT_EQ(kMesh.word({}), "");
  EXPECT_EQ(kMesh.parse_word(""), AxisIds{});
  EXPECT_THROW(kMesh.parse_word("dp+ep"), InternalError);
}

TEST(Mesh, PrintsAxesOfMoreThanOneRank) {
  EXPECT_EQ(to_string(kMesh), "dp=2,cp=3,tp=2");
  EXPECT_EQ(to_string(Mesh({{"dp", 1}, {"tp", 4}})), "tp=4");
  EXPECT_EQ(to_string(Mesh({{"dp", 1}})), "1");
  EXPECT_EQ(to_string(Mesh()), "1");
  EXPECT_EQ(Mesh().num_ranks(), 1);
}

TEST(Mesh, FindsAxesByName) {
  EXPECT_EQ(kMesh.find("cp"), 1);
  EXPECT_EQ(kMesh.find("ep"), -1);
}

std::string refusal(std::vector<Axis> axes) {
  try {
    Mesh mesh(std::move(axes));
  } catch (const UserError& error) {
    return error.message();
  }
  return "accepted";
}

TEST(Mesh, RefusesSizesBelowOneAxesGivenTwiceAndMoreThanAMillionRanks) {
  EXPECT_EQ(refusal({{"dp", 0}}), "mesh axis dp has size 0: use 1 or more");
  EXPECT_EQ(refusal({{"tp", 2}, {"tp", 2}}), "mesh axis tp is given twice");
  EXPECT_EQ(refusal({{"dp", 1 << 20}}), "accepted");
  EXPECT_EQ(refusal({{"dp", 1 << 20}, {"tp", 2}}), "the mesh has more than 1048576 ranks");
}

TEST(Group, IsAllRanksAlongItsAxesOrSomeOfThemAlone) {
  const Mesh mesh({{"pp", 4}, {"tp", 2}});
  const Group some = make_group(mesh, {0}, {0, 3});
  EXPECT_EQ(some.name, "pp-0-3");
  EXPECT_EQ(some.size, 2);
  EXPECT_EQ(members_of(some, mesh, 3), (std::vector<int>{1, 7}));
  const Group all = make_group(mesh, {0});
  EXPECT_EQ(all.size, 4);
  EXPECT_EQ(members_of(all, mesh, 3), (std::vector<int>{1, 3, 5, 7}));
  EXPECT_TRUE(all.spans(0));
  EXPECT_FALSE(all.spans(1));
}

TEST(Group, IsReadBackFromItsName) {
  const Mesh mesh({{"pp", 12}, {"tp", 2}});
  for (const Group& group :
       {make_group(mesh, {0}, {0, 11}), make_group(mesh, {0, 1}), make_group(mesh, {})})
    EXPECT_EQ(parse_group(mesh, group.name), group);
  for (const char* text : {"pp-", "pp-x", "pp-1x", "pp--1", "pp-12", "ep"})
    EXPECT_THROW(parse_group(mesh, text), InternalError) << text;
}

}  // namespace
}  // namespace tessera
