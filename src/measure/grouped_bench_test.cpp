// SPDX-License-Identifier: Apache-2.0
#include "measure/grouped_bench.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(BenchGrouped, TimesEveryShapeAndOneProductOfTheSameRows) {
  const GroupedShape small{.experts = 3, .rows = 5, .n = 16, .k = 8};
  EXPECT_DOUBLE_EQ(small.flops(), 2.0 * 15 * 16 * 8);
  const auto rows = bench_grouped(
      {.shapes = {small, {.experts = 2}}, .threads = 2, .rounds = 1, .budget_seconds = 1e-4});
  ASSERT_EQ(rows.size(), 2u);
  for (const GroupedBenchRow& row : rows) {
    EXPECT_GT(row.grouped_seconds, 0);
    EXPECT_DOUBLE_EQ(row.ratio() * row.grouped_seconds, row.one_seconds);
  }
}

}  // namespace
}  // namespace tessera
