// SPDX-License-Identifier: Apache-2.0
#include "data/document_border.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/testing/user_error_of.h"
#include "data/token_sampler.h"

namespace tessera {
namespace {

// A document begins at every multiple of a number of tokens.
class EvenDocuments : public TokenSource {
 public:
  EvenDocuments(int64_t tokens, int64_t each) : tokens_(tokens), each_(each) {}
  int64_t num_tokens() const override { return tokens_; }
  int64_t vocabulary_size() const override { return 1; }
  void read(int64_t begin, std::span<int32_t> tokens, std::span<uint8_t> opens) const override {
    std::fill(tokens.begin(), tokens.end(), 0);
    for (size_t i = 0; i < opens.size(); ++i)
      opens[i] = (begin + static_cast<int64_t>(i)) % each_ == 0 ? 1 : 0;
  }

 private:
  int64_t tokens_, each_;
};

std::unique_ptr<TokenSource> documents(int64_t tokens, int64_t each) {
  return std::make_unique<EvenDocuments>(tokens, each);
}

TEST(DocumentBorder, IsTheFirstDocumentAmongTheLastTokens) {
  EXPECT_EQ(*DocumentBorder(documents(1'000, 30), 0.1, 10).held_out_begin(), 900);
  EXPECT_EQ(*DocumentBorder(documents(1'000, 70), 0.1, 10).held_out_begin(), 910);
  EXPECT_EQ(*DocumentBorder(documents(10'000'000, 990'000), 0.1, 10).held_out_begin(), 9'900'000);
}

TEST(DocumentBorder, LeavesNoDocumentOnBothSides) {
  const DocumentBorder source(documents(1'000, 70), 0.1, 10);
  const TokenSampler train(source, {.seq = 10, .held_out = 0.1, .split = Split::Train}),
      held_out(source, {.seq = 10, .held_out = 0.1, .split = Split::HeldOut});
  for (int64_t n = 0; n < train.samples_per_epoch(); ++n)
    EXPECT_LT(train.window_begin(n) + 10, 910);  // which is its last label
  for (int64_t n = 0; n < held_out.samples_per_epoch(); ++n)
    EXPECT_GE(held_out.window_begin(n), 910);
  EXPECT_EQ(held_out.samples_per_epoch(), 8);
}

TEST(DocumentBorder, IsTheLastTokenOfAWindowWhereTheMaskLeavesItWithoutLabel) {
  const DocumentBorder source(documents(1'000, 70), 0.1, 10);
  const TokenSampler masked(source, {.seq = 10, .document_mask = true});
  EXPECT_EQ(masked.samples_per_epoch(), 91);
  EXPECT_EQ(TokenSampler(source, {.seq = 10}).samples_per_epoch(), 90);
}

TEST(DocumentBorder, RefusesDataWhoseLastDocumentIsTooLong) {
  EXPECT_EQ(user_error_of([] { DocumentBorder(documents(1'000, 800), 0.1, 10); }),
            "no document begins among the last 100 tokens");
}

}  // namespace
}  // namespace tessera
