// SPDX-License-Identifier: Apache-2.0
#include "islands/round_table.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr WireFormat kExact{IslandWire::Exact, DType::Fp64};

RoundTable table_of(int islands, double patience = 10, std::vector<int64_t> elements = {1}) {
  RoundTable table(
      {.format = kExact, .elements = std::move(elements), .patience_seconds = patience});
  for (int i = 0; i < islands; ++i) table.join(i);
  return table;
}

FragmentChange change(ExchangeId exchange, double value) {
  return {.exchange = exchange, .bytes = kExact.encode(std::vector<double>{value})};
}

double value_of(const CombinedChange& combined) {
  std::vector<double> values(1);
  kExact.decode(combined.bytes, values);
  return values.front();
}

TEST(RoundTable, ClosesOnceAllHaveSentAndTakesTheMean) {
  RoundTable table = table_of(3);
  table.put(2, change({0, 0}, 6), 0);
  table.put(0, change({0, 0}, 1), 1);
  EXPECT_TRUE(table.close(1).empty());
  EXPECT_EQ(table.missing(), (std::vector<int>{1}));
  table.put(1, change({0, 0}, 2), 2);
  const std::vector<CombinedChange> closed = table.close(2);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].islands, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(value_of(closed[0]), 3);
  EXPECT_TRUE(table.close(2).empty());
  EXPECT_EQ(table.next(), (ExchangeId{1, 0}));
}

TEST(RoundTable, BitsDoNotDependOnWhoWasFirst) {
  const std::vector<double> values{0.1, 1e16, -1e16};
  std::vector<std::vector<std::byte>> sums;
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, std::vector{2, 1, 0}}) {
    RoundTable table = table_of(3);
    for (const int i : order) table.put(i, change({0, 0}, values[static_cast<size_t>(i)]), 0);
    sums.push_back(table.close(0).at(0).bytes);
  }
  EXPECT_EQ(sums[0], sums[1]);
}

TEST(RoundTable, ClosesWithoutALaggardAfterItsPatience) {
  RoundTable table = table_of(2, 10);
  EXPECT_FALSE(table.closes_at());
  table.put(1, change({0, 0}, 4), 5);
  EXPECT_EQ(table.closes_at(), 15);
  EXPECT_TRUE(table.close(14.9).empty());
  const std::vector<CombinedChange> closed = table.close(15);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].islands, (std::vector<int>{1}));
  EXPECT_EQ(value_of(closed[0]), 4);
  EXPECT_EQ(table.put(0, change({0, 0}, 100), 16), RoundTable::Put::TooLate);
  EXPECT_TRUE(table.close(100).empty());
}

TEST(RoundTable, NobodyWaitsForAnIslandThatLeft) {
  RoundTable table = table_of(3);
  table.put(0, change({0, 0}, 1), 0);
  table.put(1, change({0, 0}, 3), 0);
  table.leave(1);  // its change counts all the same
  EXPECT_TRUE(table.close(0).empty());
  table.leave(2);
  const std::vector<CombinedChange> closed = table.close(0);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(value_of(closed[0]), 2);
}

TEST(RoundTable, AJoinerIsWaitedForFromTheNextExchangeOn) {
  RoundTable table = table_of(1);
  table.put(0, change({0, 0}, 1), 0);
  EXPECT_EQ(table.close(0).size(), 1U);
  table.join(4);
  table.put(0, change({1, 0}, 1), 0);
  EXPECT_TRUE(table.close(0).empty());
  table.put(4, change({1, 0}, 5), 0);
  const std::vector<CombinedChange> closed = table.close(0);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].islands, (std::vector<int>{0, 4}));
  EXPECT_EQ(value_of(closed[0]), 3);
}

TEST(RoundTable, NobodyWaitsForWhatAnIslandGaveUp) {
  RoundTable table = table_of(2);
  table.put(0, change({0, 0}, 1), 0);
  table.put(0, change({1, 0}, 2), 0);
  table.offers_from(0, {1, 0});
  EXPECT_FALSE(table.has_change(0, {0, 0}));
  EXPECT_TRUE(table.has_change(0, {1, 0}));
  table.put(1, change({0, 0}, 5), 0);
  const std::vector<CombinedChange> closed = table.close(0);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].islands, (std::vector<int>{1}));
  EXPECT_EQ(table.missing(), (std::vector<int>{1}));
  // It cannot take that back.
  table.offers_from(0, {0, 0});
  table.put(1, change({1, 0}, 5), 0);
  EXPECT_EQ(table.close(0).at(0).islands, (std::vector<int>{0, 1}));
}

TEST(RoundTable, TheSameChangeTwiceCountsOnce) {
  RoundTable table = table_of(2);
  EXPECT_EQ(table.put(0, change({0, 0}, 1), 0), RoundTable::Put::Taken);
  EXPECT_EQ(table.put(0, change({0, 0}, 1), 0), RoundTable::Put::Again);
  table.put(1, change({0, 0}, 2), 0);
  EXPECT_EQ(value_of(table.close(0).at(0)), 1.5);
  EXPECT_EQ(table.put(0, change({0, 0}, 1), 0), RoundTable::Put::TooLate);
}

TEST(RoundTable, ExchangesCloseInOrder) {
  RoundTable table = table_of(2, 10, {1, 1});
  for (const ExchangeId id : {ExchangeId{0, 0}, ExchangeId{0, 1}}) table.put(0, change(id, 1), 0);
  table.put(1, change({0, 1}, 3), 0);
  EXPECT_TRUE(table.close(0).empty());
  table.put(1, change({0, 0}, 3), 0);
  const std::vector<CombinedChange> closed = table.close(0);
  ASSERT_EQ(closed.size(), 2U);
  EXPECT_EQ(closed[0].exchange, (ExchangeId{0, 0}));
  EXPECT_EQ(closed[1].exchange, (ExchangeId{0, 1}));
}

TEST(RoundTable, RefusesAFragmentThatDoesNotExist) {
  RoundTable table = table_of(1);
  EXPECT_THROW(table.put(0, change({0, 1}, 1), 0), UserError);
  EXPECT_THROW(table.put(0, {.exchange = {0, 0}, .bytes = {}}, 0), UserError);
}

}  // namespace
}  // namespace tessera
