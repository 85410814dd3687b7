// SPDX-License-Identifier: Apache-2.0
#include "data/best_fit_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/random.h"
#include "data/token_sampler.h"

namespace tessera {
namespace {

// Token i is i + 1, so that 0 is padding; documents have the given lengths.
class Documents : public TokenSource {
 public:
  explicit Documents(const std::vector<int64_t>& lengths) {
    for (const int64_t length : lengths) {
      begins_[tokens_] = length;
      tokens_ += length;
    }
  }
  bool is_first(int64_t at) const { return begins_.contains(at); }
  int64_t num_tokens() const override { return tokens_; }
  int64_t vocabulary_size() const override { return tokens_ + 1; }
  void read(int64_t begin, std::span<int32_t> tokens, std::span<uint8_t> opens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const int64_t at = begin + static_cast<int64_t>(i);
      tokens[i] = static_cast<int32_t>(at + 1);
      if (!opens.empty()) opens[i] = begins_.contains(at) ? 1 : 0;
    }
  }

 private:
  std::map<int64_t, int64_t> begins_;
  int64_t tokens_ = 0;
};

struct Read {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> opens;
};

Read read_all(const TokenSource& source) {
  Read all;
  all.tokens.resize(static_cast<size_t>(source.num_tokens()));
  all.opens.resize(all.tokens.size());
  source.read(0, all.tokens, all.opens);
  return all;
}

TEST(BestFit, PutsEachDocumentIntoTheFullestWindowThatHasRoom) {
  // 6 of 8, then 5 of 8, then 3 with the 5, 2 with the 6.
  const BestFitSource source(std::make_unique<Documents>(std::vector<int64_t>{2, 5, 3, 6}), 8);
  const Read all = read_all(source);
  EXPECT_EQ(all.tokens,
            (std::vector<int32_t>{11, 12, 13, 14, 15, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0}));
  EXPECT_EQ(all.opens, (std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1}));
}

TEST(BestFit, LeavesTheLargestRoomWhereASmallerOneIsEnough) {
  // 6 of 8, then 5 of 8, then 2 with the 6: the room for 3 stays.
  const BestFitSource source(std::make_unique<Documents>(std::vector<int64_t>{5, 2, 6}), 8);
  EXPECT_EQ(read_all(source).tokens,
            (std::vector<int32_t>{8, 9, 10, 11, 12, 13, 6, 7, 1, 2, 3, 4, 5, 0, 0, 0, 0}));
}

TEST(BestFit, CutsWhatIsLongerThanAWindowAndFillsRoomWithTokensThatHaveNoLabel) {
  const BestFitSource source(std::make_unique<Documents>(std::vector<int64_t>{6}), 4);
  const TokenSampler sampler(source, {.seq = 4, .document_mask = true});
  ASSERT_EQ(sampler.samples_per_epoch(), 2);
  std::map<int32_t, int32_t> next;  // by token, of those with a label
  for (int64_t i = 0; i < 2; ++i) {
    std::vector<int32_t> tokens(4), labels(4), positions(4), document(4);
    sampler.fill(i, TokenSample{tokens, labels, positions, document});
    for (size_t j = 0; j < 4; ++j)
      if (labels[j] != kIgnoredLabel) next[tokens[j]] = labels[j];
  }
  EXPECT_EQ(next, (std::map<int32_t, int32_t>{{1, 2}, {2, 3}, {3, 4}, {5, 6}}));
}

std::vector<int64_t> many_lengths() {
  const RandomStream random(7, "lengths");
  std::vector<int64_t> lengths;
  for (uint64_t i = 0; i < 3000; ++i)
    lengths.push_back(1 + static_cast<int64_t>(random.bits(i) % 60));
  return lengths;
}

TEST(BestFit, HasEveryTokenOnceNoDocumentCutAndLittleRoomLeft) {
  constexpr int64_t kSeq = 64;
  const BestFitSource source(std::make_unique<Documents>(many_lengths()), kSeq);
  const Read all = read_all(source);
  std::vector<int> seen(static_cast<size_t>(source.vocabulary_size()));
  int64_t opened = 0, filled = 0;
  for (size_t i = 0; i < all.tokens.size(); ++i) {
    ++seen[static_cast<size_t>(all.tokens[i])];
    filled += all.tokens[i] == 0 ? 1 : 0;
    opened += all.tokens[i] != 0 && all.opens[i] != 0 ? 1 : 0;
    EXPECT_TRUE(i % kSeq != 0 || all.opens[i] == 1) << "a document crosses into window " << i;
    EXPECT_TRUE(all.opens[i] == 1 || all.tokens[i] == all.tokens[i - 1] + 1) << i;
  }
  for (size_t token = 1; token < seen.size(); ++token) ASSERT_EQ(seen[token], 1) << token;
  EXPECT_EQ(opened, 3000);
  EXPECT_LT(filled, source.num_tokens() / 100);
}

// The tokens of a split in the order of the source, without padding.
std::vector<int32_t> tokens_of(const BestFitSource& source, int64_t seq, Split split) {
  const TokenSampler sampler(source,
                             {.seq = seq, .held_out = 0.1, .document_mask = true, .split = split});
  std::vector<int32_t> all;
  std::vector<int32_t> tokens(static_cast<size_t>(seq));
  std::vector<int32_t> labels(tokens), positions(tokens), document(tokens);
  for (int64_t i = 0; i < sampler.samples_per_epoch(); ++i) {
    sampler.fill(i, TokenSample{tokens, labels, positions, document});
    for (size_t j = 0; j < tokens.size(); ++j) {
      if (tokens[j] == 0) continue;
      all.push_back(tokens[j]);
      EXPECT_TRUE(labels[j] == kIgnoredLabel || labels[j] == tokens[j] + 1);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(BestFit, HoldsOutTheLastDocumentsWholeAndNoOthers) {
  constexpr int64_t kSeq = 64;
  auto documents = std::make_unique<Documents>(many_lengths());
  const Documents& documents_in = *documents;
  const int64_t all = documents->num_tokens();
  const BestFitSource source(std::move(documents), kSeq, 0.1);
  ASSERT_TRUE(source.held_out_begin());
  const Read packed = read_all(source);
  for (auto at = static_cast<size_t>(*source.held_out_begin()); at < packed.tokens.size();
       at += kSeq)
    EXPECT_EQ(packed.opens[at], 1) << at;
  std::vector<int32_t> trained = tokens_of(source, kSeq, Split::Train);
  const std::vector<int32_t> held_out = tokens_of(source, kSeq, Split::HeldOut);
  ASSERT_FALSE(held_out.empty());
  EXPECT_TRUE(documents_in.is_first(held_out.front() - 1)) << held_out.front();
  EXPECT_NEAR(static_cast<double>(held_out.size()), 0.1 * static_cast<double>(all), 60);
  trained.insert(trained.end(), held_out.begin(), held_out.end());
  ASSERT_EQ(trained.size(), static_cast<size_t>(all));
  for (size_t i = 0; i < trained.size(); ++i)
    ASSERT_EQ(trained[i], static_cast<int32_t>(i + 1)) << "in both, or in the wrong one";
}

TEST(BestFit, ReadsTheSameInAnyPieces) {
  const BestFitSource source(std::make_unique<Documents>(std::vector<int64_t>{3, 9, 4, 4, 7}), 8);
  const Read all = read_all(source);
  for (int64_t begin = 0; begin < source.num_tokens(); ++begin) {
    Read part{std::vector<int32_t>(static_cast<size_t>(source.num_tokens() - begin)), {}};
    part.opens.resize(part.tokens.size());
    source.read(begin, part.tokens, part.opens);
    EXPECT_TRUE(std::equal(part.tokens.begin(), part.tokens.end(), all.tokens.begin() + begin));
    EXPECT_TRUE(std::equal(part.opens.begin(), part.opens.end(), all.opens.begin() + begin));
  }
}

}  // namespace
}  // namespace tessera
