// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/stochastic_rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/dtype.h"

namespace tessera {
namespace {

float rounded(float x, uint32_t random) {
  return to_float(Bf16{stochastic_round(std::bit_cast<uint32_t>(x), random)});
}

TEST(StochasticRounding, ANumberOfBf16StaysWhatItIs) {
  for (const float x : {0.0f, -0.0f, 1.0f, -3.5f, 0x1p-126f})
    for (const uint32_t random : {0u, 1u, 0xffffu}) EXPECT_EQ(rounded(x, random), x);
}

TEST(StochasticRounding, NothingIsLostOnAverage) {
  const float below = 1.0f, above = 1.0078125f;  // neighbours in bf16
  for (const float share : {0.03f, 0.25f, 0.9f}) {
    const float x = below + share * (above - below);
    double sum = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const auto element = static_cast<uint64_t>(i);
      const float y = rounded(x, draw_of(rounding_word(7, element, 3), i / 4 % 3));
      EXPECT_TRUE(y == below || y == above) << y;
      sum += y;
    }
    const double spread = (above - below) * std::sqrt(share * (1 - share) / kDraws);
    EXPECT_NEAR(sum / kDraws, x, 4 * spread) << share;
  }
}

TEST(StochasticRounding, InfinityAndNanStay) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(infinity, 0xffff), infinity);
  EXPECT_EQ(rounded(-infinity, 0xffff), -infinity);
  EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7f800001u), 0)));
  EXPECT_EQ(rounded(std::numeric_limits<float>::max(), 0xffff), infinity);
}

TEST(StochasticRounding, FourElementsShareTheirDraws) {
  for (uint64_t element = 40; element < 48; ++element)
    EXPECT_EQ(rounding_word(7, element, 3), rounding_draws(7, element / 4, 3).words[element % 4]);
}

TEST(StochasticRounding, ElementsStepsTensorsAndSeedsDrawApart) {
  const auto draw = [](uint64_t seed, uint64_t element, uint32_t step, int tensor) {
    return draw_of(rounding_word(seed, element, step), tensor);
  };
  const uint32_t one = draw(1, 10, 1, 0);
  EXPECT_NE(one, draw(2, 10, 1, 0));
  EXPECT_NE(one, draw(1, 11, 1, 0));
  EXPECT_NE(one, draw(1, 10, 2, 0));
  EXPECT_NE(one, draw(1, 10, 1, 1));
  EXPECT_NE(draw(1, 10, 1, 1), draw(1, 10, 1, 2));
}

}  // namespace
}  // namespace tessera
