// SPDX-License-Identifier: Apache-2.0
#include "data/stream_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

// Token i is i. Notes how far it was asked for.
class CountingSource : public TokenSource {
 public:
  explicit CountingSource(int64_t tokens) : tokens_(tokens) {}
  int64_t num_tokens() const override { return tokens_; }
  int64_t tokens_up_to(int64_t end) const override {
    asked = std::max(asked, end);
    return std::min(end, tokens_);
  }
  int64_t vocabulary_size() const override { return tokens_; }
  void read(int64_t begin, std::span<int32_t> tokens, std::span<uint8_t> opens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<int32_t>(begin + static_cast<int64_t>(i));
    std::fill(opens.begin(), opens.end(), uint8_t{0});
  }
  mutable int64_t asked = 0;

 private:
  int64_t tokens_;
};

std::vector<int64_t> begins(const StreamSampler& sampler, int64_t first, int64_t count) {
  std::vector<int64_t> begins;
  for (int64_t n = first; n < first + count; ++n) begins.push_back(sampler.window_begin(n));
  return begins;
}

TEST(StreamSampler, ReadsEveryWindowOnceAnEpochAndEachEpochInAnotherOrder) {
  const CountingSource source(10 * 25 + 7);  // 25 windows, of which the last block has 5
  const StreamSampler sampler(source, {.seq = 10, .seed = 3, .block_tokens = 100});
  std::set<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    std::vector<int64_t> order = begins(sampler, 25 * epoch, 25);
    EXPECT_TRUE(orders.insert(order).second) << epoch;
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < 25; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], 10 * i);
  }
}

TEST(StreamSampler, AsksForNoMoreThanTheBlockOfASample) {
  const CountingSource source(1'000'000);
  const StreamSampler sampler(source, {.seq = 10, .seed = 3, .block_tokens = 100});
  for (int64_t n = 0; n < 40; ++n) {
    const int64_t window = sampler.window_begin(n) / 10;
    EXPECT_EQ(window / 10, n / 10) << n;
    EXPECT_EQ(source.asked, (n / 10 + 1) * 100 + 1) << n;
  }
  EXPECT_NE(begins(sampler, 0, 10), (std::vector<int64_t>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
}

// What comes after does not move what has been read.
TEST(StreamSampler, ReadsTheSameWhileTheSourceGrows) {
  const CountingSource some(1'001), all(5'000);
  const StreamSampler early(some, {.seq = 10, .seed = 3, .block_tokens = 100}),
      late(all, {.seq = 10, .seed = 3, .block_tokens = 100});
  EXPECT_EQ(begins(early, 0, 100), begins(late, 0, 100));
}

TEST(StreamSampler, KeepsTheOrderOfTheTokensWhenAsked) {
  const CountingSource source(35);
  const StreamSampler sampler(source, {.seq = 10, .shuffles = false});
  EXPECT_EQ(begins(sampler, 0, 7), (std::vector<int64_t>{0, 10, 20, 0, 10, 20, 0}));
}

TEST(StreamSampler, StaysWithinItsPartOfTheSource) {
  const CountingSource source(1'000);
  const StreamSampler sampler(source, {.seq = 10, .shuffles = false, .begin = 100, .end = 125});
  EXPECT_EQ(begins(sampler, 0, 3), (std::vector<int64_t>{100, 110, 100}));
  EXPECT_LE(source.asked, 125);
}

TEST(StreamSampler, ReadsTheTokensOfAWindowAndTheOneAfter) {
  const CountingSource source(35);
  const StreamSampler sampler(source, {.seq = 10, .shuffles = false});
  Batch batch(sampler.fields(), 1);
  sampler.fill(1, batch, 0);
  EXPECT_EQ(batch.row<int32_t>(0, 0).front(), 10);
  EXPECT_EQ(batch.row<int32_t>(1, 0).front(), 11);
  EXPECT_EQ(batch.row<int32_t>(1, 0).back(), 20);
}

TEST(StreamSampler, RefusesLessThanASample) {
  const CountingSource source(10);
  EXPECT_EQ(user_error_of([&] { StreamSampler sampler(source, {.seq = 10}); }),
            "seq (10) is too long: one sample needs seq + 1 tokens, but the data has 10");
}

}  // namespace
}  // namespace tessera
