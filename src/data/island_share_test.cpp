// SPDX-License-Identifier: Apache-2.0
#include "data/island_share.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

class Numbers : public SampleSource {
 public:
  std::span<const InputField> fields() const override { return fields_; }
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override {
    batch.row<int32_t>(0, row)[0] = static_cast<int32_t>(sample_index);
  }

 private:
  std::vector<InputField> fields_{{"tokens", DType::Int32, 1}};
};

std::vector<int32_t> batch_of(const SampleSource& source, int64_t first, int64_t count) {
  Batch batch(source.fields(), count);
  fill_batch(source, first, batch);
  std::vector<int32_t> samples;
  for (int64_t row = 0; row < count; ++row) samples.push_back(batch.row<int32_t>(0, row)[0]);
  return samples;
}

// A batch of 12 in 2 microbatches over 3 islands: each has 2 samples of both microbatches.
TEST(IslandShare, IsThatOfTheDataParallelRankOfThatNumber) {
  const Numbers all;
  const auto share =
      share_of_island(all, {.index = 1, .islands = 3, .batch = 12, .microbatches = 2});
  EXPECT_EQ(batch_of(*share, 0, 4), (std::vector<int32_t>{2, 3, 8, 9}));
  EXPECT_EQ(batch_of(*share, 4, 4), (std::vector<int32_t>{14, 15, 20, 21}));
}

TEST(IslandShare, AllSharesTogetherAreTheWholeOnce) {
  const Numbers all;
  std::vector<int> seen(24);
  for (int i = 0; i < 3; ++i) {
    const auto share =
        share_of_island(all, {.index = i, .islands = 3, .batch = 12, .microbatches = 1});
    for (const int32_t sample : batch_of(*share, 0, 8)) ++seen[static_cast<size_t>(sample)];
  }
  EXPECT_EQ(seen, std::vector<int>(24, 1));
}

}  // namespace
}  // namespace tessera
