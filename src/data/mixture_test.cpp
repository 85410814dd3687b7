// SPDX-License-Identifier: Apache-2.0
#include "data/mixture.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

// A row holds the number of its source and the requested index.
class Numbered : public SampleSource {
 public:
  explicit Numbered(int32_t number) : number_(number) {}
  std::span<const InputField> fields() const override { return fields_; }
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override {
    batch.row<int32_t>(0, row)[0] = number_;
    batch.row<int32_t>(0, row)[1] = static_cast<int32_t>(sample_index);
  }

 private:
  int32_t number_;
  std::vector<InputField> fields_{{.name = "number", .dtype = DType::Int32, .elements = 2}};
};

Mixture mixture_of(const std::vector<double>& weights, uint64_t seed = 1) {
  std::vector<std::unique_ptr<SampleSource>> sources;
  for (size_t i = 0; i < weights.size(); ++i)
    sources.push_back(std::make_unique<Numbered>(static_cast<int32_t>(i)));
  return {std::move(sources), weights, seed};
}

using Shares = std::vector<int64_t>;

TEST(Mixture, SharesAreExactToAHundredthOfAPercentAndAddUp) {
  EXPECT_EQ(shares_of(std::vector{0.7, 0.3}), (Shares{7000, 3000}));
  EXPECT_EQ(shares_of(std::vector{3.0, 1.0}), (Shares{7500, 2500}));
  EXPECT_EQ(shares_of(std::vector{0.05, 0.9499, 0.0001}), (Shares{500, 9499, 1}));
  EXPECT_EQ(shares_of(std::vector{1.0, 1.0, 1.0}), (Shares{3334, 3333, 3333}));
  EXPECT_EQ(shares_of(std::vector{1.0, 1e-6}), (Shares{10000, 0}));
}

TEST(Mixture, EveryTenThousandSamplesHoldEachSourcesShareAndNoSampleTwice) {
  const Mixture mixture = mixture_of({0.7, 0.2, 0.1});
  std::vector<std::set<int64_t>> seen(3);
  for (int64_t block = 1; block <= 3; ++block) {
    for (int64_t i = (block - 1) * 10'000; i < block * 10'000; ++i) {
      const Mixture::Place place = mixture.place_of(i);
      ASSERT_TRUE(seen[place.source].insert(place.sample).second);
    }
    const Shares shares{7000, 2000, 1000};
    for (size_t source = 0; source < 3; ++source) {
      EXPECT_EQ(seen[source].size(), static_cast<size_t>(block * shares[source]));
      EXPECT_EQ(*seen[source].rbegin(), block * shares[source] - 1);
    }
  }
}

TEST(Mixture, ShortRunsSeeTheSharesToo) {
  const Mixture mixture = mixture_of({0.5, 0.5});
  int first = 0;
  for (int64_t i = 0; i < 1000; ++i) first += mixture.place_of(i).source == 0 ? 1 : 0;
  EXPECT_NEAR(first, 500, 60);  // four deviations of a fair coin
}

TEST(Mixture, TheOrderFollowsFromSeedAndBlock) {
  const Mixture mixture = mixture_of({0.5, 0.5}), same = mixture_of({0.5, 0.5}),
                other = mixture_of({0.5, 0.5}, 2);
  int as_other = 0, as_next_block = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(mixture.place_of(i).sample, same.place_of(i).sample);
    as_other += mixture.place_of(i).source == other.place_of(i).source ? 1 : 0;
    as_next_block += mixture.place_of(i).source == mixture.place_of(10'000 + i).source ? 1 : 0;
  }
  EXPECT_NEAR(as_other, 500, 60);
  EXPECT_NEAR(as_next_block, 500, 60);
}

TEST(Mixture, FillsRowsFromTheSourceOfTheirSample) {
  const Mixture mixture = mixture_of({0.5, 0.5});
  Batch batch(mixture.fields(), 8);
  fill_batch(mixture, 12'345, batch);
  for (int64_t row = 0; row < 8; ++row) {
    const Mixture::Place place = mixture.place_of(12'345 + row);
    EXPECT_EQ(batch.row<int32_t>(0, row)[0], static_cast<int32_t>(place.source));
    EXPECT_EQ(batch.row<int32_t>(0, row)[1], static_cast<int32_t>(place.sample));
  }
}

}  // namespace
}  // namespace tessera
