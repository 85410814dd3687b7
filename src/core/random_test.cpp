// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tessera {
namespace {

// The known answers of the Random123 library, for zeros, ones and digits of pi.
TEST(Philox, GivesThePublishedAnswers) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, SeedPurposeAndIndexEachChangeTheNumber) {
  const RandomStream stream(1, "layer.0.w");
  EXPECT_EQ(stream.bits(7), RandomStream(1, "layer.0.w").bits(7));
  EXPECT_NE(stream.bits(7), RandomStream(2, "layer.0.w").bits(7));
  EXPECT_NE(stream.bits(7), RandomStream(1ull << 32 | 1, "layer.0.w").bits(7));
  EXPECT_NE(stream.bits(7), RandomStream(1, "layer.1.w").bits(7));
  EXPECT_NE(stream.bits(7), stream.bits(8));
  EXPECT_NE(stream.bits(7), stream.bits(7 + (1ull << 32)));
}

TEST(RandomStream, NormalNumbersHaveMeanZeroAndDeviationOne) {
  const RandomStream stream(3, "normal");
  constexpr int kCount = 100000;
  double sum = 0, squares = 0, fourths = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.normal(static_cast<uint64_t>(i));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  // Four standard errors each: 1, sqrt 2 and sqrt 96 over sqrt n.
  EXPECT_NEAR(sum / kCount, 0.0, 4 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 4 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourths / kCount, 3.0, 4 * std::sqrt(96.0 / kCount));
}

TEST(RandomStream, NumbersBelowABoundReachAllOfItAndNoMore) {
  const RandomStream stream(4, "below");
  std::vector<int> seen(7, 0);
  for (uint64_t i = 0; i < 7000; ++i) {
    ++seen.at(stream.below(i, 7));
    const double u = stream.uniform(i);
    ASSERT_TRUE(u >= 0.0 && u < 1.0);
  }
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Permutation, HitsEveryElementOnce) {
  for (const uint64_t size : {1u, 2u, 3u, 4u, 5u, 17u, 64u, 1000u, 4097u}) {
    const Permutation permutation(size, RandomStream(5, "order"));
    std::vector<bool> seen(size, false);
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t element = permutation(i);
      ASSERT_LT(element, size);
      EXPECT_FALSE(seen[element]) << size << ": " << element << " twice";
      seen[element] = true;
    }
  }
}

TEST(Permutation, FollowsItsStreamAndLeavesTheOldOrder) {
  const Permutation a(1000, RandomStream(5, "order")), b(1000, RandomStream(6, "order"));
  int same = 0, in_place = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    same += a(i) == b(i);
    in_place += a(i) == i;
  }
  EXPECT_LT(same, 20);
  EXPECT_LT(in_place, 20);
}

}  // namespace
}  // namespace tessera
