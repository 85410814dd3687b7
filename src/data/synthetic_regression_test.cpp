// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic_regression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tessera {
namespace {

struct Moments {
  double mean = 0, deviation = 0;
};

template <typename T>
Moments moments_of(Batch& batch, size_t field) {
  double sum = 0, squares = 0, count = 0;
  for (int64_t row = 0; row < batch.num_samples(); ++row) {
    for (const T value : batch.row<T>(field, row)) {
      sum += static_cast<double>(load(value));
      squares += static_cast<double>(load(value)) * static_cast<double>(load(value));
      ++count;
    }
  }
  return {sum / count, std::sqrt(squares / count)};
}

TEST(SyntheticRegression, HasInputsAndTargetsOfMeanZeroAndDeviationOne) {
  const SyntheticRegression source({.width = 64, .seed = 1});
  Batch batch(source.fields(), 512);
  fill_batch(source, 0, batch);
  for (const size_t field : {0u, 1u}) {
    EXPECT_NEAR(moments_of<float>(batch, field).mean, 0, 0.05) << field;
    EXPECT_NEAR(moments_of<float>(batch, field).deviation, 1, 0.15) << field;
  }
}

TEST(SyntheticRegression, IsAPureFunctionOfTheSampleIndex) {
  const SyntheticRegression source({.width = 16, .seed = 1}), again({.width = 16, .seed = 1});
  Batch whole(source.fields(), 8), part(source.fields(), 4);
  fill_batch(source, 0, whole);
  fill_batch(again, 4, part);
  for (const size_t field : {0u, 1u})
    EXPECT_EQ(
        std::memcmp(part.bytes(field).data(), whole.bytes(field).data() + 4 * 16 * sizeof(float),
                    4 * 16 * sizeof(float)),
        0);
}

// The same x gives the same y in every split: there is one function to learn.
TEST(SyntheticRegression, HoldsOutOtherInputsOfTheSameFunction) {
  SyntheticRegressionOptions options{.width = 1, .seed = 1, .dtype = DType::Fp64};
  const SyntheticRegression train(options);
  options.split = Split::HeldOut;
  const SyntheticRegression held_out(options);
  Batch a(train.fields(), 2000), b(held_out.fields(), 200);
  fill_batch(train, 0, a);
  fill_batch(held_out, 0, b);
  for (int64_t i = 0; i < 200; ++i) {
    const double x = b.row<double>(0, i)[0], y = b.row<double>(1, i)[0];
    double nearest = 1e9, value = 0;
    for (int64_t j = 0; j < 2000; ++j) {
      const double distance = std::abs(a.row<double>(0, j)[0] - x);
      ASSERT_NE(distance, 0);
      if (distance < nearest) {
        nearest = distance;
        value = a.row<double>(1, j)[0];
      }
    }
    EXPECT_NEAR(value, y, 20 * nearest + 1e-9);
  }
}

TEST(SyntheticRegression, RoundsTheSameNumbersToEveryDtype) {
  const SyntheticRegression exact({.width = 8, .seed = 1, .dtype = DType::Fp64});
  const SyntheticRegression single({.width = 8, .seed = 1, .dtype = DType::Fp32});
  const SyntheticRegression half({.width = 8, .seed = 1, .dtype = DType::Bf16});
  Batch a(exact.fields(), 1), b(single.fields(), 1), c(half.fields(), 1);
  fill_batch(exact, 3, a);
  fill_batch(single, 3, b);
  fill_batch(half, 3, c);
  for (const size_t field : {0u, 1u}) {
    for (size_t i = 0; i < 8; ++i) {
      const double value = a.row<double>(field, 0)[i];
      EXPECT_EQ(b.row<float>(field, 0)[i], static_cast<float>(value));
      EXPECT_EQ(c.row<Bf16>(field, 0)[i].bits, to_bf16(static_cast<float>(value)).bits);
    }
  }
}

TEST(SyntheticRegression, RepeatsAfterAnEpoch) {
  const SyntheticRegression source({.width = 4, .seed = 1, .samples_per_epoch = 10});
  Batch first(source.fields(), 1), again(source.fields(), 1), other(source.fields(), 1);
  fill_batch(source, 3, first);
  fill_batch(source, 13, again);
  fill_batch(source, 4, other);
  EXPECT_EQ(first.row<float>(0, 0)[0], again.row<float>(0, 0)[0]);
  EXPECT_NE(first.row<float>(0, 0)[0], other.row<float>(0, 0)[0]);
}

}  // namespace
}  // namespace tessera
