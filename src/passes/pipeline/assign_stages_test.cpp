// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline/assign_stages.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

using Counts = std::vector<int>;

TEST(Balance, CutsEvenBlocksEvenly) {
  EXPECT_EQ(balance({1, 1, 1, 1, 1, 1}, 3), (Counts{2, 2, 2}));
  EXPECT_EQ(balance({1, 1, 1, 1, 1, 1, 1, 1}, 4), (Counts{2, 2, 2, 2}));
}

TEST(Balance, GivesADearBlockFewerNeighbours) {
  EXPECT_EQ(balance({1, 1, 1, 1, 4}, 2), (Counts{4, 1}));
  EXPECT_EQ(balance({0.1, 1, 1, 1, 1, 2}, 3), (Counts{3, 2, 1}));
}

TEST(EvenStages, HaveAsManyLayersEachBesideEmbeddingAndHead) {
  EXPECT_EQ(even_stages(26, 4), (Counts{7, 6, 6, 7}));
  EXPECT_EQ(even_stages(26, 1), (Counts{26}));
  EXPECT_EQ(even_stages(6, 4), (Counts{2, 1, 1, 2}));
  EXPECT_THROW(even_stages(26, 5), UserError);
  EXPECT_THROW(even_stages(5, 4), UserError);
}

TEST(Balance, LeavesNoPartEmpty) {
  EXPECT_EQ(balance({5, 1, 1}, 3), (Counts{1, 1, 1}));
  EXPECT_EQ(balance({1, 0, 0, 7}, 4), (Counts{1, 1, 1, 1}));
}

// The most expensive part never costs more than in the best cut found by trying all.
TEST(Balance, FindsTheCheapestDearestPart) {
  const std::vector<double> costs{3, 1, 4, 1, 5, 9, 2, 6};
  double best = 1e9;
  for (size_t a = 1; a + 2 <= costs.size(); ++a)
    for (size_t b = a + 1; b < costs.size(); ++b) {
      double parts[3] = {};
      for (size_t i = 0; i < costs.size(); ++i) parts[i < a ? 0 : i < b ? 1 : 2] += costs[i];
      best = std::min(best, std::max({parts[0], parts[1], parts[2]}));
    }
  size_t at = 0;
  double largest = 0;
  for (const int count : balance(costs, 3)) {
    double part = 0;
    for (int i = 0; i < count; ++i) part += costs[at++];
    largest = std::max(largest, part);
  }
  EXPECT_EQ(at, costs.size());
  EXPECT_EQ(largest, best);
}

}  // namespace
}  // namespace tessera
