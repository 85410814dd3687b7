// SPDX-License-Identifier: Apache-2.0
#include "record/scan_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tessera {
namespace {

void expect_equal(const StepRecord& one, const StepRecord& other) {
  EXPECT_EQ(one.step, other.step);
  for (const StepField& field : step_fields()) {
    const double left = field.of(one), right = field.of(other);
    EXPECT_TRUE(left == right || (std::isnan(left) && std::isnan(right))) << field.key;
  }
}

TEST(ScanStep, ReadsWhatTheParserReads) {
  std::mt19937_64 random(1);
  for (int64_t trial = 0; trial < 200; ++trial) {
    StepRecord record{.step = trial * 1000 + 1};
    for (const StepField& field : step_fields()) {
      const uint64_t bits = random();
      if (bits % 4 != 0)
        field.of(record) =
            std::ldexp(static_cast<double>(bits >> 12), static_cast<int>(bits % 61) - 80);
    }
    if (trial % 5 == 0) record.loads = {{.block = "layer.\"0\\", .counts = {1, 2, 3}}};
    const std::string line = to_json_line(record);
    const auto scanned = scan_step(line), parsed = parse_step(line);
    ASSERT_TRUE(scanned && parsed) << line;
    expect_equal(*scanned, *parsed);
  }
}

TEST(ScanStep, TakesOtherOrdersSpacesAndNames) {
  const auto step = scan_step(
      R"( { "lr" : 0.5 , "odd":[1,{"a":"]"}],"text":"a\"}", "loss":-2e3,"mfu":null, "step": 7,"x":true} )");
  ASSERT_TRUE(step);
  EXPECT_EQ(step->step, 7);
  EXPECT_EQ(step->lr, 0.5);
  EXPECT_EQ(step->loss, -2000);
  EXPECT_TRUE(std::isnan(step->mfu));
}

TEST(ScanStep, TakesSmallFiguresAndEscapedNamesAsTheParserDoes) {
  EXPECT_EQ(scan_step(R"({"lr":4e-502})")->lr, 0);
  EXPECT_EQ(scan_step(std::string("{\"lr\":1}\0\0", 10))->lr, 1);
  EXPECT_EQ(scan_step(R"({"lr":4e-310})")->lr, 4e-310);
  EXPECT_EQ(scan_step(R"({"lo\u0073s":2})")->loss, 2);
}

TEST(ScanStep, LeavesOutLinesThatAreCutShortOrNoObjects) {
  const std::string line = R"({"step":3,"loss":2.5,"loads":{"a":[1,2]},"text":"b\\"})";
  ASSERT_TRUE(scan_step(line));
  for (size_t size = 0; size < line.size(); ++size)
    EXPECT_FALSE(scan_step(line.substr(0, size))) << line.substr(0, size);
  for (const std::string_view other : {"[]", "3", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
                                       "{\"a\":nan}", "{\"a\":1e999}", "{\"a\":.5}"})
    EXPECT_FALSE(scan_step(other)) << other;
  EXPECT_TRUE(scan_step("{}"));
}

TEST(ScanStep, IsNotSentDeep) { EXPECT_FALSE(scan_step("{\"a\":" + std::string(100000, '['))); }

}  // namespace
}  // namespace tessera
