// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(UserError, ReportsMessagePlaceAndHelpOnALineEach) {
  const UserError error = user_error("cannot shard heads ({})", 12).at("model.heads").help("use 6");
  EXPECT_EQ(error.report(), "error: cannot shard heads (12)\n   at: model.heads\n help: use 6\n");
}

TEST(UserError, LeavesOutALineThatWasNotGiven) {
  EXPECT_EQ(UserError("no such file").report(), "error: no such file\n");
}

TEST(UserError, ShowsTheBeginAndTheEndOfTextThatFillsScreens) {
  const std::string report = user_error("unknown key {}!", std::string(100'000, 'x')).report();
  EXPECT_LT(report.size(), 2000u);
  EXPECT_TRUE(report.starts_with("error: unknown key xxx")) << report;
  EXPECT_TRUE(report.ends_with("xxx!\n")) << report;
}

TEST(Check, NamesTheExpressionAndTheDetail) {
  try {
    TESSERA_CHECK(1 + 1 == 3, "got {}", 2);
    FAIL() << "the check let a false condition pass";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("1 + 1 == 3"), std::string::npos) << text;
    EXPECT_NE(text.find("got 2"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tessera
