// SPDX-License-Identifier: Apache-2.0
#include "record/loss_plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tessera {
namespace {

TEST(TextPlot, DrawsAFallingCurveFromTheTopLeftToTheBottomRight) {
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) values.push_back(12.0 - i);
  const std::string plot = text_plot(values, 1);
  std::string expected;
  for (int r = 0; r < 12; ++r) {
    const char* label = r == 0    ? "  12.0000 |"
                        : r == 6  ? "   6.0000 |"
                        : r == 11 ? "   1.0000 |"
                                  : "          |";
    expected += label + std::string(static_cast<size_t>(r), ' ') + "*" +
                std::string(static_cast<size_t>(11 - r), ' ') + "\n";
  }
  EXPECT_EQ(plot.substr(0, expected.size()), expected);
  EXPECT_NE(plot.find("step 1"), std::string::npos);
}

TEST(TextPlot, AveragesWhatFallsIntoOneColumn) {
  std::vector<double> values(6400, 1.0);
  for (size_t i = 0; i < 100; i += 2) values[i] = 3.0;  // the first column's mean is 2
  const std::string plot = text_plot(values, 1);
  EXPECT_EQ(plot.substr(0, 13), "   2.0000 |* ");
}

TEST(TextPlot, LeavesAGapWhereALossIsNoNumber) {
  const std::string plot = text_plot(std::vector<double>{2, NAN, 1, INFINITY}, 1);
  EXPECT_EQ(plot.substr(0, 16), "   2.0000 |*   \n");
  EXPECT_NE(plot.find("   1.0000 |  * \n"), std::string::npos) << plot;
  EXPECT_EQ(text_plot(std::vector<double>{NAN, NAN}, 1), "");
}

TEST(TextPlot, DrawsNothingOfOneValue) { EXPECT_EQ(text_plot(std::vector<double>{1.0}, 1), ""); }

}  // namespace
}  // namespace tessera
