// SPDX-License-Identifier: Apache-2.0
#include "data/token_sampler.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

// Token i is i; documents begin at the multiples of `document`.
class Counting : public TokenSource {
 public:
  Counting(int64_t tokens, int64_t document) : tokens_(tokens), document_(document) {}
  int64_t num_tokens() const override { return tokens_; }
  int64_t vocabulary_size() const override { return tokens_; }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = static_cast<int32_t>(begin) + static_cast<int32_t>(i);
      if (!opens_document.empty()) opens_document[i] = tokens[i] % document_ == 0;
    }
  }

 private:
  int64_t tokens_, document_;
};

struct Sample {
  explicit Sample(const TokenSampler& sampler, int64_t index, size_t seq)
      : tokens(seq), labels(seq), positions(seq), document(seq) {
    sampler.fill(index, TokenSample{tokens, labels, positions, document});
  }
  std::vector<int32_t> tokens, labels, positions, document;
};

using Ints = std::vector<int32_t>;

TEST(TokenSampler, LabelsEveryTokenWithTheNext) {
  const Counting source(41, 100);
  const TokenSampler sampler(source, {.seq = 4, .seed = 1});
  EXPECT_EQ(sampler.samples_per_epoch(), 10);
  for (int64_t index = 0; index < 10; ++index) {
    const Sample sample(sampler, index, 4);
    const int32_t begin = sample.tokens[0];
    EXPECT_EQ(begin % 4, 0);
    EXPECT_EQ(sample.tokens, (Ints{begin, begin + 1, begin + 2, begin + 3}));
    EXPECT_EQ(sample.labels, (Ints{begin + 1, begin + 2, begin + 3, begin + 4}));
    EXPECT_EQ(sample.positions, (Ints{0, 1, 2, 3}));
    EXPECT_EQ(sample.document, (Ints{0, 0, 0, 0}));
  }
}

TEST(TokenSampler, VisitsEveryWindowOncePerEpochInANewOrder) {
  const Counting source(1001, 100);
  const TokenSampler sampler(source, {.seq = 10, .seed = 1});
  std::vector<std::vector<int64_t>> orders(3);
  for (size_t epoch = 0; epoch < orders.size(); ++epoch) {
    for (int64_t i = 0; i < 100; ++i)
      orders[epoch].push_back(sampler.window_begin(static_cast<int64_t>(epoch) * 100 + i));
    EXPECT_EQ(std::set<int64_t>(orders[epoch].begin(), orders[epoch].end()).size(), 100u);
    EXPECT_FALSE(std::is_sorted(orders[epoch].begin(), orders[epoch].end()));
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
}

TEST(TokenSampler, OrdersBySeed) {
  const Counting source(10'001, 100);
  const TokenSampler first(source, {.seq = 10, .seed = 1}), same(source, {.seq = 10, .seed = 1}),
      other(source, {.seq = 10, .seed = 2});
  int equal = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(first.window_begin(i), same.window_begin(i));
    equal += first.window_begin(i) == other.window_begin(i);
  }
  EXPECT_LT(equal, 20);
}

TEST(TokenSampler, NeverTrainsOnAHeldOutToken) {
  const Counting source(1000, 100);
  TokenSamplerOptions options{.seq = 7, .seed = 3, .held_out = 0.2};
  const TokenSampler train(source, options);
  options.split = Split::HeldOut;
  const TokenSampler held_out(source, options);
  std::set<int32_t> trained, held;
  for (int64_t i = 0; i < 3 * train.samples_per_epoch(); ++i) {
    const Sample sample(train, i, 7);
    trained.insert(sample.tokens.begin(), sample.tokens.end());
    trained.insert(sample.labels.begin(), sample.labels.end());
  }
  for (int64_t i = 0; i < held_out.samples_per_epoch(); ++i) {
    const Sample sample(held_out, i, 7);
    held.insert(sample.tokens.begin(), sample.tokens.end());
    held.insert(sample.labels.begin(), sample.labels.end());
  }
  EXPECT_EQ(*trained.rbegin(), 7 * 114);
  EXPECT_GE(*held.begin(), 800);
  EXPECT_EQ(held_out.samples_per_epoch(), 28);
  EXPECT_LT(*trained.rbegin(), *held.begin());
}

TEST(TokenSampler, HoldsOutTheSameSamplesInTheSameOrderEveryTime) {
  const Counting source(1000, 100);
  const TokenSampler held_out(source,
                              {.seq = 7, .seed = 3, .held_out = 0.2, .split = Split::HeldOut});
  for (int64_t i = 0; i < 28; ++i)
    EXPECT_EQ(held_out.window_begin(i), held_out.window_begin(i + 28));
}

TEST(TokenSampler, HoldsOutAtLeastOneSampleWhenAskedTo) {
  const Counting source(100, 100);
  const TokenSampler held_out(source, {.seq = 8, .held_out = 0.001, .split = Split::HeldOut});
  EXPECT_EQ(held_out.samples_per_epoch(), 1);
  EXPECT_EQ(held_out.window_begin(0), 91);
  const TokenSampler none(source, {.seq = 8, .held_out = 0, .split = Split::HeldOut});
  EXPECT_EQ(none.samples_per_epoch(), 0);
}

// Documents begin at 0, 3, 6, ...; the window [8, 16) begins in the middle of one.
TEST(TokenSampler, RestartsPositionsAndIgnoresLabelsAtDocumentBorders) {
  const Counting source(17, 3);
  const TokenSampler sampler(source, {.seq = 8, .document_mask = true});
  for (int64_t index = 0; index < 2; ++index) {
    const Sample sample(sampler, index, 8);
    if (sample.tokens[0] == 8) {
      EXPECT_EQ(sample.document, (Ints{0, 1, 1, 1, 2, 2, 2, 3}));
      EXPECT_EQ(sample.positions, (Ints{0, 0, 1, 2, 0, 1, 2, 0}));
      EXPECT_EQ(sample.labels, (Ints{-1, 10, 11, -1, 13, 14, -1, 16}));
    } else {
      EXPECT_EQ(sample.document, (Ints{0, 0, 0, 1, 1, 1, 2, 2}));
      EXPECT_EQ(sample.positions, (Ints{0, 1, 2, 0, 1, 2, 0, 1}));
      EXPECT_EQ(sample.labels, (Ints{1, 2, -1, 4, 5, -1, 7, 8}));
    }
  }
}

TEST(TokenSampler, CrossesBordersFreelyWithoutDocumentMask) {
  const Counting source(17, 3);
  const Sample sample(TokenSampler(source, {.seq = 16}), 0, 16);
  EXPECT_EQ(*std::min_element(sample.labels.begin(), sample.labels.end()), 1);
  EXPECT_EQ(*std::max_element(sample.document.begin(), sample.document.end()), 0);
}

TEST(TokenSampler, SaysHowManyTokensASampleNeeds) {
  const Counting source(10, 3);
  EXPECT_EQ(user_error_of([&] { TokenSampler sampler(source, {.seq = 10}); }),
            "seq (10) is too long: one sample needs seq + 1 tokens, but the data has 10");
  EXPECT_EQ(user_error_of([&] { TokenSampler sampler(source, {.seq = 5, .held_out = 0.1}); }),
            "the data has 10 tokens, 6 of them held out; one sample needs seq + 1 = 6");
}

TEST(TokenSampler, FillsABatchRowByRow) {
  const Counting source(41, 100);
  const TokenSampler sampler(source, {.seq = 4, .seed = 1});
  Batch batch(sampler.fields(), 3);
  fill_batch(sampler, 5, batch);
  EXPECT_EQ(batch.first_sample, 5);
  for (int64_t row = 0; row < 3; ++row) {
    const Sample sample(sampler, 5 + row, 4);
    const auto labels = batch.row<int32_t>(batch.field_index("labels"), row);
    EXPECT_EQ(Ints(labels.begin(), labels.end()), sample.labels);
  }
}

}  // namespace
}  // namespace tessera
