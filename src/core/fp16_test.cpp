// SPDX-License-Identifier: Apache-2.0
#include "core/fp16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace tessera {
namespace {

// From the definition: sign, five bits of exponent, ten of digits.
double value_of(uint32_t half) {
  const int exponent = static_cast<int>(half >> 10 & 31), digits = static_cast<int>(half & 1023);
  const double size = exponent == 0    ? std::ldexp(digits, -24)
                      : exponent == 31 ? (digits == 0 ? INFINITY : NAN)
                                       : std::ldexp(1024 + digits, exponent - 25);
  return half >> 15 ? -size : size;
}

TEST(Fp16, BecomesTheSameNumberInFp32) {
  std::vector<std::byte> halves(1 + 2 * 65536), floats(4 * 65536);
  for (uint32_t half = 0; half < 65536; ++half) {
    halves[1 + 2 * half] = static_cast<std::byte>(half & 255);
    halves[2 + 2 * half] = static_cast<std::byte>(half >> 8);
  }
  widen_halves(std::span(halves).subspan(1), floats);  // at odd addresses too
  for (uint32_t half = 0; half < 65536; ++half) {
    float found = 0;
    std::memcpy(&found, floats.data() + 4 * half, sizeof found);
    const double expected = value_of(half);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(found)) << half;
    else
      EXPECT_EQ(static_cast<double>(found), expected) << half;
    EXPECT_EQ(std::signbit(found), half >> 15 == 1) << half;
  }
}

}  // namespace
}  // namespace tessera
