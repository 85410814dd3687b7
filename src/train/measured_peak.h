// SPDX-License-Identifier: Apache-2.0
// The peak that MFU is measured against. A busy machine measures too little: where the work itself
// was faster, it is measured again, a few times in all, and the largest counts.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

namespace tessera {

class MeasuredPeak {
 public:
  static constexpr int kMostMeasurements = 5;

  explicit MeasuredPeak(std::function<double()> measure) : measure_(std::move(measure)) {}

  // The peak, in flops per second; `reached` is the rate of the work.
  double above(double reached) {
    while (measurements_ < kMostMeasurements && (measurements_ == 0 || peak_ < reached)) {
      peak_ = std::max(peak_, measure_());
      ++measurements_;
    }
    return peak_;
  }

 private:
  std::function<double()> measure_;
  double peak_ = 0;
  int measurements_ = 0;
};

}  // namespace tessera
