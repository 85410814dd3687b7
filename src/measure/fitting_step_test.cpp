// SPDX-License-Identifier: Apache-2.0
#include "measure/fitting_step.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

int64_t peak(std::span<const Program> programs) { return programs.front().peak_bytes(); }

Config sixteen_rows() {
  Config config;
  config.train.batch = 16;
  return config;
}

TEST(FittingStep, IsTheFirstChangeThatFits) {
  const int64_t large = int64_t{1} << 60;
  EXPECT_TRUE(fitting_change(sixteen_rows(), large, peak)
                  .starts_with("train.microbatches = 2 would need "));
  std::vector<int64_t> seen;
  const auto noting = [&](std::span<const Program> programs) {
    seen.push_back(peak(programs));
    return seen.back();
  };
  EXPECT_EQ(fitting_change(sixteen_rows(), 0, noting), "");
  // 2, 4, 8, 16 microbatches, and 1 to 16 with blocks rebuilt, without attention and with it.
  ASSERT_EQ(seen.size(), 14u);
  for (size_t i = 1; i < 4; ++i) EXPECT_LT(seen[i], seen[i - 1]);
  EXPECT_EQ(fitting_change(sixteen_rows(), seen[1], peak),
            fmt::format("train.microbatches = 4 would need {:.2f} GB",
                        static_cast<double>(seen[1]) / 1e9));
}

TEST(FittingStep, NamesBothChangesWhereOneIsNotEnough) {
  int calls = 0;
  const std::string change = fitting_change(sixteen_rows(), 1, [&](std::span<const Program>) {
    return ++calls == 11 ? 1 : 2;  // after four of microbatches alone and those of attention kept
  });
  EXPECT_EQ(change, "train.microbatches = 2 with plan.recompute = \"block\" would need 0.00 GB");
}

}  // namespace
}  // namespace tessera
