// SPDX-License-Identifier: Apache-2.0
#include "islands/outer_state.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr WireFormat kExact{IslandWire::Exact, DType::Fp64};

OuterSnapshot begins_with(const std::vector<std::vector<double>>& fragments) {
  OuterSnapshot first;
  for (const std::vector<double>& fragment : fragments)
    first.parameters.push_back(kExact.encode(fragment));
  return first;
}

CombinedChange change(ExchangeId exchange, const std::vector<double>& values) {
  return {.exchange = exchange, .islands = {0}, .bytes = kExact.encode(values)};
}

TEST(OuterState, AveragingTakesTheMeanOfTheIslands) {
  OuterState outer({.optimizer = OuterOptimizer::Average}, kExact, begins_with({{1, 2}, {5}}));
  outer.apply(change({0, 0}, {0.5, -1}));
  EXPECT_EQ(outer.parameters(0), (std::vector<double>{0.5, 3}));
  EXPECT_EQ(outer.parameters(1), (std::vector<double>{5}));
  EXPECT_EQ(outer.next(), (ExchangeId{0, 1}));
  outer.apply(change({0, 1}, {4}));
  EXPECT_EQ(outer.next(), (ExchangeId{1, 0}));
  EXPECT_TRUE(outer.snapshot().momentum.empty());
}

// v = mu v + g, p = p - lr (g + mu v), as torch.optim.SGD(nesterov=True) does it.
TEST(OuterState, NesterovLooksAheadAlongItsMomentum) {
  OuterState outer({.learning_rate = 0.5, .momentum = 0.8}, kExact, begins_with({{10}}));
  outer.apply(change({0, 0}, {1}));
  EXPECT_DOUBLE_EQ(outer.parameters(0)[0], 10 - 0.5 * (1 + 0.8));
  outer.apply(change({1, 0}, {2}));
  EXPECT_DOUBLE_EQ(outer.parameters(0)[0], 9.1 - 0.5 * (2 + 0.8 * 2.8));
}

TEST(OuterState, GoesOnFromASnapshotWithTheSameBits) {
  OuterState whole({}, kExact, begins_with({{1, 2, 3}}));
  whole.apply(change({0, 0}, {0.1, 0.2, 0.3}));
  OuterState resumed({}, kExact, whole.snapshot());
  whole.apply(change({1, 0}, {0.3, 0.1, 0.7}));
  resumed.apply(change({1, 0}, {0.3, 0.1, 0.7}));
  EXPECT_EQ(resumed.parameters(0), whole.parameters(0));
  EXPECT_EQ(resumed.snapshot().momentum, whole.snapshot().momentum);
}

TEST(OuterState, RefusesAChangeThatItHas) {
  OuterState outer({}, kExact, begins_with({{1}, {2}}));
  outer.apply(change({0, 0}, {0.1}));
  EXPECT_THROW(outer.apply(change({0, 0}, {0.1})), InternalError);
  outer.apply(change({1, 0}, {0.1}));  // one that nobody had a part in may be missing
}

TEST(OuterState, AChangeIsOuterMinusOwn) {
  EXPECT_EQ(change_between(std::vector<double>{3, 1}, std::vector<double>{1, 1.5}),
            (std::vector<double>{2, -0.5}));
}

}  // namespace
}  // namespace tessera
