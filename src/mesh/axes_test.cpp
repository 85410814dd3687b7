// SPDX-License-Identifier: Apache-2.0
#include "mesh/axes.h"

#include <gtest/gtest.h>

#include "mesh/axis_sizes.h"
#include "mesh/plan.h"

namespace tessera {
namespace {

TEST(Axes, EveryOneMakesAPlanThatSplitsItsDims) {
  for (const AxisRow& row : kAxes) {
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

TEST(AxisSizes, StatesAreShardedOverFsdpBeforeDp) {
  EXPECT_EQ(AxisSizes({{AxisKind::Tp, 2}}).state_axis(), nullptr);
  EXPECT_EQ(AxisSizes({{AxisKind::Dp, 2}}).state_axis()->axis, AxisKind::Dp);
  EXPECT_EQ(AxisSizes({{AxisKind::Dp, 2}, {AxisKind::Fsdp, 4}}).state_axis()->axis, AxisKind::Fsdp);
}

TEST(AxisSizes, MultiplyPartsAndCountSamples) {
  const std::vector<Axis> mesh{{"dp", 2}, {"fsdp", 3}, {"tp.group", 2}, {"tp.kv", 4}};
  const AxisSizes sizes = sizes_of(mesh);
  EXPECT_EQ(sizes[AxisKind::Tp], 8);
  EXPECT_EQ(sizes.data_ranks(), 6);
  EXPECT_EQ(sizes.ranks(), 48);
  EXPECT_EQ(sizes.above_one(), (std::vector<Axis>{{"dp", 2}, {"fsdp", 3}, {"tp", 8}}));
}

}  // namespace
}  // namespace tessera
