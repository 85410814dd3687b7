// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/openblas_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "exec/testing/openblas.h"

namespace tessera {
namespace {

constexpr MatmulShape kShape{.m = 96, .n = 80, .k = 64, .a_transposed = true};

TEST(OpenblasTimer, LeavesOpenblasWithOneThread) {
  SKIP_WITHOUT_OPENBLAS();
  OpenblasTimer timer({&kShape, 1}, 2);
  EXPECT_GT(timer.threaded_seconds(kShape, 0.001), 0);
  EXPECT_EQ(Openblas().get_num_threads(), 1);
}

TEST(OpenblasTimer, SplitsAMatmulWithoutChangingItsResult) {
  SKIP_WITHOUT_OPENBLAS();
  for (const bool wide : {false, true}) {
    MatmulShape shape = kShape;
    if (wide) std::swap(shape.m, shape.n);
    OpenblasTimer timer({&shape, 1}, 3);
    timer.threaded_seconds(shape, 0);
    const std::span<float> product = timer.product(shape);
    const std::vector<float> whole(product.begin(), product.end());
    std::fill(product.begin(), product.end(), 0.0f);
    timer.split_seconds(shape, 0);
    for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(product[i], whole[i], 1e-4) << i;
  }
}

}  // namespace
}  // namespace tessera
