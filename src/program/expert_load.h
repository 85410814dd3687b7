// SPDX-License-Identifier: Apache-2.0
// How often each expert of a layer was chosen in a step, by all tokens; and how unevenly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace tessera {

struct ExpertLoad {
  std::string block;  // "layer.3"
  std::vector<int32_t> counts;

  bool operator==(const ExpertLoad&) const = default;

  double mean() const {
    return static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0})) /
           static_cast<double>(counts.size());
  }
  // The largest load over the mean, less 1: 0 where all are equal.
  double violation() const {
    return mean() > 0 ? *std::max_element(counts.begin(), counts.end()) / mean() - 1 : 0;
  }
  // Experts with less than a tenth of the mean, which hardly learn.
  int64_t starving() const {
    return std::count_if(counts.begin(), counts.end(),
                         [least = mean() / 10](int32_t count) { return count < least; });
  }
};

inline double largest_violation(const std::vector<ExpertLoad>& layers) {
  double largest = 0;
  for (const ExpertLoad& layer : layers) largest = std::max(largest, layer.violation());
  return largest;
}

inline int64_t starving_experts(const std::vector<ExpertLoad>& layers) {
  int64_t experts = 0;
  for (const ExpertLoad& layer : layers) experts += layer.starving();
  return experts;
}

}  // namespace tessera
