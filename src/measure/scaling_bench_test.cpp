// SPDX-License-Identifier: Apache-2.0
#include "measure/scaling_bench.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

Config small_config(std::vector<std::string> more = {}) {
  std::vector<std::string> overrides{"model.preset=tiny", "train.batch=4", "train.seq=16",
                                     "train.threads=2"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return load_config({}, overrides);
}

TEST(IdealSpeedUp, IsTheRanksUntilTheThreadsRunOut) {
  EXPECT_DOUBLE_EQ(ideal_speed_up(1, 4, 4), 1);
  EXPECT_DOUBLE_EQ(ideal_speed_up(2, 2, 4), 2);
  EXPECT_DOUBLE_EQ(ideal_speed_up(8, 1, 4), 4);
  EXPECT_DOUBLE_EQ(ideal_speed_up(3, 1, 4), 3);
}

TEST(ScalingMeshes, EndWithTheThreadsAndWithTheBatch) {
  EXPECT_EQ(default_scaling_meshes(small_config({"train.threads=9"})),
            (std::vector<std::vector<Axis>>{{{"dp", 2}}, {{"dp", 4}}}));
  EXPECT_EQ(default_scaling_meshes(small_config()), (std::vector<std::vector<Axis>>{{{"dp", 2}}}));
  EXPECT_TRUE(default_scaling_meshes(small_config({"train.threads=1"})).empty());
}

TEST(BenchScaling, MeasuresEachMeshOnceBesideOneRankWithAllThreadsAndOneWithARanks) {
  const ScalingResult result =
      bench_scaling(small_config(), {{{"dp", 2}}, {{"tp", 2}}, {{"dp", 2}}}, {.steps = 1});
  ASSERT_EQ(result.rows.size(), 4u);
  const auto named = [](const ScalingRow& row) {
    return to_string(row.mesh) + "/" + std::to_string(row.threads_per_rank);
  };
  EXPECT_EQ(named(result.rows[0]), "1/2");
  EXPECT_EQ(named(result.rows[1]), "1/1");
  EXPECT_EQ(named(result.rows[2]), "dp=2/1");
  EXPECT_EQ(named(result.rows[3]), "tp=2/1");
  EXPECT_EQ(result.tokens, 64);
  EXPECT_DOUBLE_EQ(result.rows[0].same_threads_ratio, 1);
  EXPECT_DOUBLE_EQ(result.rows[1].speed_up, 1);
  for (const ScalingRow& row : result.rows) {
    EXPECT_EQ(row.step_seconds.size(), 2u);
    EXPECT_NEAR(row.loss, result.rows[0].loss, 1e-4) << named(row);
  }
  EXPECT_DOUBLE_EQ(result.rows[2].ideal, 2);
  EXPECT_LT(result.rows[3].bytes_per_rank, result.rows[0].bytes_per_rank);
}

}  // namespace
}  // namespace tessera
