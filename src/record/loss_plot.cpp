// SPDX-License-Identifier: Apache-2.0
#include "record/loss_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

constexpr size_t kColumns = 64, kRows = 12;

// The mean of each column's share of the finite values; NaN where there are none.
std::vector<double> column_means(std::span<const double> values) {
  const size_t columns = std::min(kColumns, values.size());
  std::vector<double> means(columns);
  for (size_t c = 0; c < columns; ++c) {
    const size_t begin = c * values.size() / columns, end = (c + 1) * values.size() / columns;
    double sum = 0;
    int64_t count = 0;
    for (size_t i = begin; i < end; ++i)
      if (std::isfinite(values[i])) {
        sum += values[i];
        ++count;
      }
    means[c] = count > 0 ? sum / static_cast<double>(count) : NAN;
  }
  return means;
}

}  // namespace

std::string text_plot(std::span<const double> values, int64_t first_index) {
  if (values.size() < 2) return "";
  const std::vector<double> means = column_means(values);
  double low = INFINITY, high = -INFINITY;
  for (const double mean : means) {  // fmin and fmax pass over a NaN
    low = std::fmin(low, mean);
    high = std::fmax(high, mean);
  }
  if (!(low <= high)) return "";
  const double span = std::max(high - low, 1e-12);
  std::vector<std::string> rows(kRows, std::string(means.size(), ' '));
  for (size_t c = 0; c < means.size(); ++c) {
    if (std::isnan(means[c])) continue;
    const double height = (means[c] - low) / span * (kRows - 1);
    rows[kRows - 1 - static_cast<size_t>(std::lround(height))][c] = '*';
  }
  std::string text;
  for (size_t r = 0; r < kRows; ++r) {
    const bool labelled = r == 0 || r == kRows - 1 || r == kRows / 2;
    const double value = high - span * static_cast<double>(r) / (kRows - 1);
    text +=
        (labelled ? fmt::format("{:>9.4f} |", value) : std::string(9, ' ') + " |") + rows[r] + "\n";
  }
  const std::string left = fmt::format("step {}", first_index),
                    right =
                        fmt::format("{}", first_index + static_cast<int64_t>(values.size()) - 1);
  text += std::string(9, ' ') + " +" + std::string(means.size(), '-') + "\n";
  const size_t gap =
      means.size() > left.size() + right.size() ? means.size() - left.size() - right.size() : 1;
  return text + std::string(11, ' ') + left + std::string(gap, ' ') + right + "\n";
}

}  // namespace tessera
