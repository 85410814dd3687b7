// SPDX-License-Identifier: Apache-2.0
#include "mesh/placement.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const Mesh kMesh({{"dp", 2}, {"cp", 2}, {"tp", 3}});
const Dims kDims{{"batch", 4}, {"seq", 12}, {"d", 3}};

TEST(Placement, AxesAreTakenApartByKind) {
  const Placement placement{shard("batch"), partial(), replicate()};
  EXPECT_EQ(partial_axes(placement), AxisIds{1});
  EXPECT_EQ(replicated_axes(placement), AxisIds{2});
  EXPECT_EQ(shard_axes(placement, "batch"), AxisIds{0});
  EXPECT_EQ(shard_axes(placement, "seq"), AxisIds{});
}

TEST(Placement, MinorAxesComeBehindTheOthersOfTheirDim) {
  EXPECT_EQ(shard_axes({shard("seq"), shard("seq"), shard("seq")}, "seq"), (AxisIds{0, 1, 2}));
  EXPECT_EQ(shard_axes({shard("seq", true), shard("seq"), shard("seq")}, "seq"),
            (AxisIds{1, 2, 0}));
}

TEST(Placement, LocalDimsAreWholeOnesDividedByTheAxesThatSplitThem) {
  EXPECT_EQ(local_dims(kMesh, kDims, {}), kDims);
  EXPECT_EQ(local_dims(kMesh, kDims, {shard("batch"), shard("seq"), shard("seq")}),
            (Dims{{"batch", 2}, {"seq", 2}, {"d", 3}}));
  EXPECT_EQ(local_dims(kMesh, kDims, {shard("batch"), partial(), replicate()}),
            (Dims{{"batch", 2}, {"seq", 12}, {"d", 3}}));
}

TEST(Placement, LocalDimsThatDoNotDivideAreRoundedUp) {
  EXPECT_EQ(local_dims(kMesh, {{"vocab", 29}}, {replicate(), replicate(), shard("vocab")}),
            (Dims{{"vocab", 10}}));
  EXPECT_EQ(local_dims(kMesh, {{"vocab", 29}}, {shard("vocab"), replicate(), shard("vocab")}),
            (Dims{{"vocab", 5}}));
}

TEST(Placement, PrintsAxesThatSplitOrArePending) {
  EXPECT_EQ(to_string(kMesh, {shard("batch"), partial(), replicate()}), "dp=batch cp=+");
  EXPECT_EQ(to_string(kMesh, {replicate(), shard("kv_heads", true), shard("kv_heads")}),
            "cp=kv_heads' tp=kv_heads");
  EXPECT_EQ(to_string(kMesh, {}), "");
}

// How many ranks hold each element of the whole tensor; local places must be within the rank's
// dims and used once.
std::vector<int> holders(const Dims& dims, const Placement& placement) {
  std::vector<int> found(static_cast<size_t>(num_elements(dims)), 0);
  const int64_t local_size = num_elements(local_dims(kMesh, dims, placement));
  for (int rank = 0; rank < kMesh.num_ranks(); ++rank) {
    std::vector<bool> used(static_cast<size_t>(local_size), false);
    for_each_run(kMesh, rank, dims, placement, [&](int64_t local, int64_t global, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        ++found.at(static_cast<size_t>(global + i));
        EXPECT_FALSE(used.at(static_cast<size_t>(local + i)));
        used[static_cast<size_t>(local + i)] = true;
      }
    });
  }
  return found;
}

void expect_held_by(int ranks, const Dims& dims, const Placement& placement) {
  const std::vector<int> found = holders(dims, placement);
  EXPECT_EQ(found, std::vector<int>(found.size(), ranks))
      << to_string(dims) << " on " << to_string(kMesh, placement);
}

TEST(ForEachRun, EveryElementIsHeldOnceByEachSetOfRanksThatSplitsIt) {
  expect_held_by(12, kDims, {});
  expect_held_by(6, kDims, {shard("batch"), replicate(), replicate()});
  expect_held_by(4, kDims, {replicate(), replicate(), shard("d")});
  expect_held_by(1, kDims, {shard("batch"), shard("seq"), shard("d")});
  expect_held_by(1, kDims, {shard("batch"), shard("seq"), shard("seq")});
  expect_held_by(2, kDims, {partial(), shard("seq"), shard("seq")});
  expect_held_by(1, kDims, {shard("seq"), shard("seq", true), shard("seq")});
}

TEST(ForEachRun, PaddingBelongsToNobody) {
  const Dims table{{"vocab", 29}, {"d", 3}};
  expect_held_by(4, table, {replicate(), replicate(), shard("vocab")});
  expect_held_by(1, table, {shard("vocab"), shard("vocab"), shard("vocab")});
  expect_held_by(2, table, {shard("vocab"), replicate(), shard("vocab")});
  // Twelve ranks hold one row each of five: seven have nothing.
  expect_held_by(1, {{"vocab", 5}}, {shard("vocab"), shard("vocab"), shard("vocab")});
  // Inside other dims, where the padding leaves a gap in the local tensor.
  expect_held_by(4, {{"d", 2}, {"vocab", 7}}, {replicate(), replicate(), shard("vocab")});
}

struct Stretch {
  int64_t local, global, count;
  bool operator==(const Stretch&) const = default;
};

std::vector<Stretch> runs(int rank, const Dims& dims, const Placement& placement) {
  std::vector<Stretch> found;
  for_each_run(kMesh, rank, dims, placement, [&](int64_t local, int64_t global, int64_t count) {
    found.push_back({local, global, count});
  });
  return found;
}

TEST(ForEachRun, StretchesAreAsLongAsBothTensorsAllow) {
  // Rank 4 is dp 0, cp 1, tp 1.
  EXPECT_EQ(runs(4, kDims, {}), (std::vector<Stretch>{{0, 0, 144}}));
  EXPECT_EQ(runs(4, kDims, {shard("batch"), replicate(), replicate()}),
            (std::vector<Stretch>{{0, 0, 72}}));
  EXPECT_EQ(runs(4, kDims, {shard("batch"), shard("seq"), replicate()}),
            (std::vector<Stretch>{{0, 18, 18}, {18, 54, 18}}));
}

TEST(ForEachRun, TheMinorAxisSplitsInsideWhatTheOthersLeave) {
  const Dims dims{{"seq", 12}};
  // Rank 4: seq in halves by cp, each in thirds by tp.
  EXPECT_EQ(runs(4, dims, {replicate(), shard("seq"), shard("seq")}),
            (std::vector<Stretch>{{0, 8, 2}}));
  // In thirds by tp, each in halves by cp.
  EXPECT_EQ(runs(4, dims, {replicate(), shard("seq", true), shard("seq")}),
            (std::vector<Stretch>{{0, 6, 2}}));
}

}  // namespace
}  // namespace tessera
