// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic_regression.h"

#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr int64_t kDirections = 8;
constexpr double kTanhDeviation = 0.6276;  // of tanh of a standard normal number

std::vector<double> normal_numbers(const SyntheticRegressionOptions& options, const char* purpose,
                                   double deviation) {
  const RandomStream stream(options.seed, purpose);
  std::vector<double> numbers(static_cast<size_t>(options.width * kDirections));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = deviation * stream.normal(i);
  return numbers;
}

template <typename T>
void fill_row(std::span<const double> x, std::span<const double> directions,
              std::span<const double> mixing, std::span<T> x_out, std::span<T> y_out) {
  std::array<double, kDirections> bent{};
  for (size_t k = 0; k < bent.size(); ++k) {
    double along = 0;
    for (size_t i = 0; i < x.size(); ++i) along += directions[k * x.size() + i] * x[i];
    bent[k] = std::tanh(along);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    double y = 0;
    for (size_t k = 0; k < bent.size(); ++k) y += mixing[i * bent.size() + k] * bent[k];
    x_out[i] = store<T>(static_cast<Accumulator<T>>(x[i]));
    y_out[i] = store<T>(static_cast<Accumulator<T>>(y));
  }
}

}  // namespace

SyntheticRegression::SyntheticRegression(SyntheticRegressionOptions options)
    : options_(options),
      draws_(options.seed,
             options.split == Split::Train ? "regression_train" : "regression_held_out"),
      directions_(normal_numbers(options, "regression_directions",
                                 1 / std::sqrt(static_cast<double>(options.width)))),
      mixing_(normal_numbers(options, "regression_mixing",
                             1 / (kTanhDeviation * std::sqrt(static_cast<double>(kDirections))))) {
  TESSERA_CHECK(options.width > 0 && is_float(options.dtype) && options.samples_per_epoch > 0);
  for (const char* name : {"x", "target"})
    fields_.push_back({.name = name, .dtype = options.dtype, .elements = options.width});
}

void SyntheticRegression::fill(int64_t sample_index, Batch& batch, int64_t row) const {
  const auto width = static_cast<size_t>(options_.width);
  thread_local std::vector<double> x;
  x.resize(width);
  const auto sample = static_cast<uint64_t>(sample_index % options_.samples_per_epoch);
  for (size_t i = 0; i < width; ++i) x[i] = draws_.normal(sample * width + i);
  dispatch_float(options_.dtype, [&]<typename T>() {
    fill_row<T>(x, directions_, mixing_, batch.row<T>(0, row), batch.row<T>(1, row));
  });
}

}  // namespace tessera
