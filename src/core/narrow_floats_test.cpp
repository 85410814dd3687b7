// SPDX-License-Identifier: Apache-2.0
#include "core/narrow_floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
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

namespace {

// Every number of the format, from its bits: 1 sign, 4 or 5 of exponent, 3 or 2 of mantissa.
std::set<float> numbers_of(Fp8 format) {
  const int mantissa_bits = format == Fp8::E4m3 ? 3 : 2, bias = format == Fp8::E4m3 ? 7 : 15;
  std::set<float> all;
  for (int byte = 0; byte < 128; ++byte) {
    const int exponent = byte >> mantissa_bits, mantissa = byte & ((1 << mantissa_bits) - 1);
    const bool special = format == Fp8::E4m3 ? byte == 0x7f : exponent == 31;
    if (special) continue;
    const double fraction = std::ldexp(mantissa, -mantissa_bits);
    const double value =
        exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    all.insert({static_cast<float>(value), static_cast<float>(-value)});
  }
  return all;
}

class Fp8Format : public testing::TestWithParam<Fp8> {};

TEST_P(Fp8Format, EveryNumberOfItStaysWhatItIs) {
  const std::set<float> all = numbers_of(GetParam());
  EXPECT_EQ(*all.rbegin(), largest_fp8(GetParam()));
  for (const float x : all) EXPECT_EQ(rounded_to_fp8(x, GetParam()), x);
}

TEST_P(Fp8Format, EveryByteIsThatOfItsNumber) {
  std::set<float> read;
  for (int byte = 0; byte < 256; ++byte)
    if (const float x = fp8_value(static_cast<uint8_t>(byte), GetParam()); std::isfinite(x)) {
      EXPECT_EQ(fp8_bits(x, GetParam()), byte);
      read.insert(x);
    }
  EXPECT_EQ(read, numbers_of(GetParam()));
  EXPECT_TRUE(std::isnan(fp8_value(fp8_bits(std::nanf(""), GetParam()), GetParam())));
}

TEST_P(Fp8Format, OthersGoToTheNearest) {
  const std::set<float> all = numbers_of(GetParam());
  for (auto below = all.begin(), above = std::next(below); above != all.end(); ++below, ++above)
    for (const float share : {0.1f, 0.4f, 0.6f, 0.9f}) {
      const float x = *below + share * (*above - *below);
      EXPECT_EQ(rounded_to_fp8(x, GetParam()), share < 0.5f ? *below : *above) << x;
    }
}

TEST_P(Fp8Format, ATieGoesToTheEvenOne) {
  const float step = GetParam() == Fp8::E4m3 ? 0.125f : 0.25f;  // between 1 and 2
  EXPECT_EQ(rounded_to_fp8(1 + step / 2, GetParam()), 1);
  EXPECT_EQ(rounded_to_fp8(1 + 3 * step / 2, GetParam()), 1 + 2 * step);
}

TEST_P(Fp8Format, TooLargeBecomesTheLargestAndNanStays) {
  EXPECT_EQ(rounded_to_fp8(1e9f, GetParam()), largest_fp8(GetParam()));
  EXPECT_EQ(rounded_to_fp8(-std::numeric_limits<float>::infinity(), GetParam()),
            -largest_fp8(GetParam()));
  EXPECT_TRUE(std::isnan(rounded_to_fp8(std::nanf(""), GetParam())));
}

TEST_P(Fp8Format, ScalingUsesTheWholeRangeAndNoMore) {
  const float most = largest_fp8(GetParam());
  for (const float largest : {1e-20f, 0.3f, 1.75f, 1.7500001f, 448.0f, 449.0f, 1e30f}) {
    const float scaled = largest * power_of_two(fp8_exponent(largest, GetParam()));
    EXPECT_LE(scaled, most) << largest;
    EXPECT_GT(scaled, most / 2) << largest;
  }
  EXPECT_EQ(fp8_exponent(0, GetParam()), 0);
}

INSTANTIATE_TEST_SUITE_P(Core, Fp8Format, testing::Values(Fp8::E4m3, Fp8::E5m2),
                         [](const auto& each) { return std::string(name(each.param)); });

}  // namespace

}  // namespace tessera
