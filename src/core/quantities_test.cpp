// SPDX-License-Identifier: Apache-2.0
#include "core/quantities.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

std::string refusal(const std::string& text) {
  try {
    return fmt::format("{}", parse_byte_size(text, "here"));
  } catch (const UserError& error) {
    return error.message() + " " + error.advice();
  }
}

TEST(ByteSize, UnitsAreTakenInAnyCaseAndAfterABlank) {
  for (const std::string text : {"80GiB", "80gib", "80 GiB", "80GIB ", "8.0e1gib"})
    EXPECT_EQ(parse_byte_size(text, "here"), 80LL << 30) << text;
  EXPECT_EQ(parse_byte_size("80 GB", "here"), 80'000'000'000);
  EXPECT_EQ(parse_byte_size("1.5kb", "here"), 1500);
  EXPECT_EQ(parse_byte_size("2TiB", "here"), 2LL << 40);
  EXPECT_EQ(parse_byte_size("64B", "here"), 64);
}

TEST(ByteSize, ANumberWithoutAUnitIsRefused) {
  EXPECT_EQ(refusal("80"), "80 has no unit write 80GB or 80GiB, or 80B for bytes");
  EXPECT_EQ(refusal("80 "), "80  has no unit write 80GB or 80GiB, or 80B for bytes");
}

TEST(ByteSize, WhatIsNoSizeIsRefused) {
  for (const std::string text :
       {"", "GB", "-1GB", "0GB", "80 G B", "0.1B", "80gigs", "1e300GB", "nan"})
    EXPECT_EQ(refusal(text), text +
                                 " is not a size write a number and a unit, such as 24GB, 512MB "
                                 "or 1.5GiB");
}

TEST(Duration, HasAUnit) {
  EXPECT_EQ(parse_duration("90s", "here"), 90);
  EXPECT_EQ(parse_duration("1.5 H", "here"), 5400);
  EXPECT_EQ(parse_duration("0d", "here"), 0);
  EXPECT_EQ(parse_duration("250ms", "here"), 0.25);
  for (const std::string text : {"", "90", "-1s", "h", "3 weeks", "1e9y", "nan s"})
    EXPECT_THROW(parse_duration(text, "here"), UserError) << text;
}

TEST(Count, MayHaveAUnit) {
  EXPECT_EQ(parse_count("15T", "here"), 15e12);
  EXPECT_EQ(parse_count("1000", "here"), 1000);
  EXPECT_EQ(parse_count("2.5m", "here"), 2.5e6);
  for (const std::string text : {"", "0", "-1T", "15 trillion", "T", "1e30"})
    EXPECT_THROW(parse_count(text, "here"), UserError) << text;
}

}  // namespace
}  // namespace tessera
