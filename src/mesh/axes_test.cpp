// SPDX-License-Identifier: Apache-2.0
#include "mesh/axes.h"

#include <gtest/gtest.h>

#include "mesh/axis_sizes.h"
#include "mesh/plan.h"

namespace tessera {
namespace {

TEST(Axes, EveryOneMakesAPlanThatSplitsItsDims) {
  for (const AxisRow& row : kAxes) {
    if (row.apart) continue;  // is taken off the mesh before there is a plan
    const Plan plan = make_plan({.mesh = {{std::string(row.name), 2}}}, {});
    EXPECT_EQ(plan.dims.front(), std::vector<std::string>(row.dims().begin(), row.dims().end()))
        << row.name;
    EXPECT_EQ(plan.zero, row.shards_states ? 3 : 0) << row.name;
    EXPECT_EQ(plan.pipeline_axis, row.dims().empty() ? 0 : -1) << row.name;
    EXPECT_EQ(usual_shard_axes(plan.mesh), row.splits_data ? AxisIds{0} : AxisIds{}) << row.name;
  }
}

TEST(Axes, PartsOfAnAxisHaveItsRow) {
  EXPECT_EQ(find_axis("tp.kv"), find_axis("tp"));
  EXPECT_EQ(find_axis("xp"), nullptr);
}

TEST(AxisSizes, StatesAreShardedOverFsdpBeforeDpAndOverEpToo) {
  using enum AxisKind;
  using Kinds = std::vector<AxisKind>;
  EXPECT_EQ(AxisSizes({{Tp, 2}}).state_axes(), Kinds{});
  EXPECT_EQ(AxisSizes({{Dp, 2}}).state_axes(), Kinds{Dp});
  EXPECT_EQ(AxisSizes({{Dp, 2}, {Fsdp, 4}}).state_axes(), Kinds{Fsdp});
  EXPECT_EQ(AxisSizes({{Ep, 2}}).state_axes(), Kinds{Ep});
  EXPECT_EQ(AxisSizes({{Dp, 2}, {Ep, 4}}).state_axes(), (Kinds{Dp, Ep}));
  EXPECT_EQ(AxisSizes({{Dp, 2}, {Fsdp, 3}, {Ep, 4}}).state_axes(), (Kinds{Fsdp, Ep}));
  EXPECT_EQ(AxisSizes({{Dp, 2}, {Fsdp, 3}, {Ep, 4}}).state_shards(), 12);
  EXPECT_EQ(AxisSizes({{Dp, 2}, {Ep, 4}}).sharding_axis(), nullptr);
  EXPECT_EQ(AxisSizes({{Fsdp, 2}, {Ep, 4}}).sharding_axis()->axis, Fsdp);
}

TEST(AxisSizes, MultiplyPartsAndCountSamples) {
  const std::vector<Axis> mesh{{"dp", 2}, {"fsdp", 3}, {"ep", 5}, {"tp.group", 2}, {"tp.kv", 4}};
  const AxisSizes sizes = sizes_of(mesh);
  EXPECT_EQ(sizes[AxisKind::Tp], 8);
  EXPECT_EQ(sizes.data_ranks(), 30);
  EXPECT_EQ(sizes.ranks(), 240);
  EXPECT_EQ(sizes.above_one(), (std::vector<Axis>{{"dp", 2}, {"fsdp", 3}, {"ep", 5}, {"tp", 8}}));
}

}  // namespace
}  // namespace tessera
