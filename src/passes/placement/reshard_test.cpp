// SPDX-License-Identifier: Apache-2.0
#include "passes/placement/reshard.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Kind = ReshardStep::Kind;
using Steps = std::vector<ReshardStep>;

TEST(Reshard, OneStepForEachChangeOnOneAxis) {
  EXPECT_EQ(reshard_steps({replicate()}, {shard("a")}),
            (Steps{{.kind = Kind::Slice, .axes = {0}, .dim = "a"}}));
  EXPECT_EQ(reshard_steps({partial()}, {shard("a")}),
            (Steps{{.kind = Kind::ReduceScatter, .axes = {0}, .dim = "a"}}));
  EXPECT_EQ(reshard_steps({shard("a")}, {shard("b")}),
            (Steps{{.kind = Kind::AllToAll, .axes = {0}, .dim = "b", .from = "a"}}));
  EXPECT_EQ(reshard_steps({partial()}, {replicate()}),
            (Steps{{.kind = Kind::AllReduce, .axes = {0}}}));
  EXPECT_EQ(reshard_steps({shard("a")}, {replicate()}),
            (Steps{{.kind = Kind::AllGather, .axes = {0}, .dim = "a"}}));
}

TEST(Reshard, NothingToDoWhereBothAreTheSame) {
  const Placement placement{shard("a"), partial(), replicate()};
  EXPECT_EQ(reshard_steps(placement, placement), Steps{});
  EXPECT_EQ(reshard_steps({}, {replicate()}), Steps{});
}

TEST(Reshard, ASumIsNeverMadePendingAgain) {
  EXPECT_FALSE(reshard_steps({replicate()}, {partial()}));
  EXPECT_FALSE(reshard_steps({shard("a")}, {partial()}));
}

TEST(Reshard, SumsPendingOnSeveralAxesAreTakenAtOnce) {
  EXPECT_EQ(
      reshard_steps({partial(), shard("a"), partial()}, {replicate(), shard("a"), replicate()}),
      (Steps{{.kind = Kind::AllReduce, .axes = {0, 2}}}));
}

TEST(Reshard, APendingSumThatIsWantedPendingStays) {
  EXPECT_EQ(reshard_steps({partial(), partial()}, {partial(), replicate()}),
            (Steps{{.kind = Kind::AllReduce, .axes = {1}}}));
}

TEST(Reshard, WhatShrinksComesFirstAndGathersLast) {
  EXPECT_EQ(reshard_steps({partial(), replicate()}, {shard("a"), shard("b")}),
            (Steps{{.kind = Kind::Slice, .axes = {1}, .dim = "b"},
                   {.kind = Kind::ReduceScatter, .axes = {0}, .dim = "a"}}));
  EXPECT_EQ(reshard_steps({shard("b"), partial()}, {shard("c"), shard("a")}),
            (Steps{{.kind = Kind::ReduceScatter, .axes = {1}, .dim = "a"},
                   {.kind = Kind::AllToAll, .axes = {0}, .dim = "c", .from = "b"}}));
  // A slice before the sum, which would otherwise be over the full value.
  EXPECT_EQ(reshard_steps({partial(), replicate()}, {replicate(), shard("a")}),
            (Steps{{.kind = Kind::Slice, .axes = {1}, .dim = "a"},
                   {.kind = Kind::AllReduce, .axes = {0}}}));
  EXPECT_EQ(reshard_steps({shard("b"), partial()}, {replicate(), shard("a")}),
            (Steps{{.kind = Kind::ReduceScatter, .axes = {1}, .dim = "a"},
                   {.kind = Kind::AllGather, .axes = {0}, .dim = "b"}}));
  EXPECT_EQ(
      reshard_steps({shard("b"), shard("c"), partial()}, {replicate(), shard("a"), replicate()}),
      (Steps{{.kind = Kind::AllToAll, .axes = {1}, .dim = "a", .from = "c"},
             {.kind = Kind::AllReduce, .axes = {2}},
             {.kind = Kind::AllGather, .axes = {0}, .dim = "b"}}));
}

TEST(Reshard, TwoAxesOnOneDimAreCutMajorFirstAndGatheredMinorFirst) {
  EXPECT_EQ(reshard_steps({replicate(), replicate()}, {shard("a"), shard("a")}),
            (Steps{{.kind = Kind::Slice, .axes = {0}, .dim = "a"},
                   {.kind = Kind::Slice, .axes = {1}, .dim = "a"}}));
  EXPECT_EQ(reshard_steps({replicate(), replicate()}, {shard("a", true), shard("a")}),
            (Steps{{.kind = Kind::Slice, .axes = {1}, .dim = "a"},
                   {.kind = Kind::Slice, .axes = {0}, .dim = "a"}}));
  EXPECT_EQ(reshard_steps({shard("a"), shard("a")}, {replicate(), replicate()}),
            (Steps{{.kind = Kind::AllGather, .axes = {1}, .dim = "a"},
                   {.kind = Kind::AllGather, .axes = {0}, .dim = "a"}}));
}

TEST(Reshard, ASumIsScatteredOnlyOnceTheMajorAxisOfItsDimHasSplitIt) {
  EXPECT_EQ(reshard_steps({shard("b"), partial()}, {shard("a"), shard("a")}),
            (Steps{{.kind = Kind::AllToAll, .axes = {0}, .dim = "a", .from = "b"},
                   {.kind = Kind::ReduceScatter, .axes = {1}, .dim = "a"}}));
}

TEST(Reshard, OnlyTheMinorAxisOfADimIsExchanged) {
  EXPECT_EQ(reshard_steps({shard("seq"), shard("seq")}, {shard("seq"), shard("mlp")}),
            (Steps{{.kind = Kind::AllToAll, .axes = {1}, .dim = "mlp", .from = "seq"}}));
  EXPECT_FALSE(reshard_steps({shard("seq"), shard("seq")}, {shard("mlp"), shard("seq")}));
}

TEST(Reshard, AMajorAxisIsNotGatheredFromUnderAMinorOne) {
  EXPECT_FALSE(reshard_steps({shard("a"), shard("a")}, {replicate(), shard("a")}));
  EXPECT_EQ(reshard_steps({shard("a"), shard("a")}, {shard("a"), replicate()}),
            (Steps{{.kind = Kind::AllGather, .axes = {1}, .dim = "a"}}));
}

TEST(Reshard, TheOrderOfTwoAxesOnADimCannotBeSwapped) {
  EXPECT_FALSE(reshard_steps({shard("a"), shard("a")}, {shard("a", true), shard("a")}));
  EXPECT_FALSE(reshard_steps({shard("a"), replicate()}, {shard("a", true), shard("a")}));
}

TEST(SamePlace, AnAxisAloneOnItsDimHasNoOrder) {
  EXPECT_TRUE(same_place({shard("a", true), replicate()}, {shard("a"), replicate()}));
  EXPECT_TRUE(same_place({shard("a", true), shard("b")}, {shard("a"), shard("b", true)}));
  EXPECT_FALSE(same_place({shard("a", true), shard("a")}, {shard("a"), shard("a")}));
  EXPECT_FALSE(same_place({shard("a")}, {shard("b")}));
  EXPECT_FALSE(same_place({partial()}, {replicate()}));
  EXPECT_FALSE(same_place({}, {replicate()}));
}

}  // namespace
}  // namespace tessera
