// SPDX-License-Identifier: Apache-2.0
#include "inference/token_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tessera {
namespace {

// Probabilities of a half, a quarter, an eighth and twice a sixteenth, in another order.
const std::vector<double> kLogits{std::log(2.0), std::log(8.0), 0, std::log(4.0), 0};

std::set<int32_t> drawn(const TokenChoice& choice) {
  std::set<int32_t> found;
  for (int i = 0; i < 1000; ++i) found.insert(choose_token(kLogits, choice, i / 1000.0));
  return found;
}

TEST(TokenChoiceTest, TakesTheLikeliestAtATemperatureOfZero) {
  EXPECT_EQ(choose_token(kLogits, {.temperature = 0}, 0.99), 1);
  EXPECT_EQ(choose_token({0, 3, 3}, {.temperature = 0}, 0.99), 1);
}

TEST(TokenChoiceTest, TopPKeepsTheFewestThatReachIt) {
  EXPECT_EQ(drawn({.temperature = 1, .top_p = 0.4}), (std::set<int32_t>{1}));
  EXPECT_EQ(drawn({.temperature = 1, .top_p = 0.6}), (std::set<int32_t>{1, 3}));
  EXPECT_EQ(drawn({.temperature = 1, .top_p = 0.8}), (std::set<int32_t>{0, 1, 3}));
  EXPECT_EQ(drawn({.temperature = 1}), (std::set<int32_t>{0, 1, 2, 3, 4}));
}

// The share of what top_k leaves.
TEST(TokenChoiceTest, TopPIsOfTheTopK) {
  EXPECT_EQ(drawn({.temperature = 1, .top_k = 3, .top_p = 0.7}), (std::set<int32_t>{1, 3}));
}

TEST(TokenChoiceTest, DrawsInProportionAmongTheKept) {
  int first = 0;
  for (int i = 0; i < 3000; ++i)
    first += choose_token(kLogits, {.temperature = 1, .top_p = 0.6}, i / 3000.0) == 1;
  EXPECT_EQ(first, 2000);
}

}  // namespace
}  // namespace tessera
