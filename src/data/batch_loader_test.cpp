// SPDX-License-Identifier: Apache-2.0
#include "data/batch_loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

// Row i holds its own index. It can be slow, and it can throw at an index.
class Numbers : public SampleSource {
 public:
  std::span<const InputField> fields() const override { return fields_; }
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override {
    if (sample_index == breaks_at) throw UserError("the disk is gone");
    std::this_thread::sleep_for(delay);
    for (int32_t& value : batch.row<int32_t>(0, row)) value = static_cast<int32_t>(sample_index);
    ++filled;
  }

  int64_t breaks_at = -1;
  std::chrono::milliseconds delay{0};
  mutable std::atomic<int64_t> filled{0};

 private:
  std::vector<InputField> fields_{{.name = "number", .dtype = DType::Int32, .elements = 64}};
};

void wait_until_filled(const Numbers& source, int64_t samples) {
  while (source.filled < samples) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void expect_rows(Batch& batch, int64_t first) {
  EXPECT_EQ(batch.first_sample, first);
  for (int64_t row = 0; row < batch.num_samples(); ++row)
    for (const int32_t value : batch.row<int32_t>(0, row)) ASSERT_EQ(value, first + row);
}

TEST(BatchLoader, GivesTheBatchesInOrder) {
  const Numbers source;
  BatchLoader loader(source, 4, 0);
  for (int64_t step = 0; step < 2000; ++step) expect_rows(loader.next().batch, 4 * step);
}

TEST(BatchLoader, BeginsAtAnySample) {
  const Numbers source;
  BatchLoader loader(source, 4, 120);
  expect_rows(loader.next().batch, 120);
  expect_rows(loader.next().batch, 124);
}

TEST(BatchLoader, LeavesABatchAloneUntilTheNextOneIsTaken) {
  const Numbers source;
  BatchLoader loader(source, 4, 0);
  for (int64_t step = 0; step < 5; ++step) {
    Batch& batch = loader.next().batch;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    expect_rows(batch, 4 * step);
  }
}

TEST(BatchLoader, WorksAheadButNoFurtherThanItsBatches) {
  const Numbers source;
  BatchLoader loader(source, 4, 0);
  wait_until_filled(source, 12);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(source.filled, 12);
}

TEST(BatchLoader, ReusesItsMemory) {
  const Numbers source;
  BatchLoader loader(source, 4, 0);
  std::vector<const std::byte*> places;
  for (int64_t step = 0; step < 9; ++step) places.push_back(loader.next().batch.bytes(0).data());
  for (size_t i = 3; i < places.size(); ++i) EXPECT_EQ(places[i], places[i - 3]);
  EXPECT_NE(places[0], places[1]);
}

// A machine that is busy with other things can be late for either: one of many tries shows it.
template <typename F>
bool comes_true_once(const F& holds) {
  for (int tries = 0; tries < 100; ++tries)
    if (holds()) return true;
  return false;
}

TEST(BatchLoader, ReportsTheSecondsWaited) {
  const auto waits_for_the_first = [] {
    Numbers source;
    source.delay = std::chrono::milliseconds(20);
    BatchLoader loader(source, 2, 0);
    return loader.next().waited_seconds > 0.02;
  };
  EXPECT_TRUE(comes_true_once(waits_for_the_first));
  const auto finds_one_ready = [] {
    const Numbers source;
    BatchLoader loader(source, 2, 0);
    wait_until_filled(source, 6);
    return loader.next().waited_seconds < 0.02;
  };
  EXPECT_TRUE(comes_true_once(finds_one_ready));
}

TEST(BatchLoader, RethrowsAnErrorOfTheThreadWhenItsBatchIsDue) {
  Numbers source;
  source.breaks_at = 9;
  BatchLoader loader(source, 4, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  expect_rows(loader.next().batch, 0);
  expect_rows(loader.next().batch, 4);
  EXPECT_EQ(user_error_of([&] { loader.next(); }), "the disk is gone");
  EXPECT_EQ(user_error_of([&] { loader.next(); }), "the disk is gone");
}

TEST(BatchLoader, StopsWhileNobodyTakes) {
  Numbers source;
  for (int i = 0; i < 50; ++i) BatchLoader(source, 4, 0);
  EXPECT_LE(source.filled, 50 * 12);
}

}  // namespace
}  // namespace tessera
