// SPDX-License-Identifier: Apache-2.0
// How unevenly tokens choose experts. Ranks that share experts wait for each other in every layer,
// so a step takes as long as the rank that gets the most rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct LoadModel {
  enum class Kind : uint8_t { Uniform, Lognormal, Measured, Worst };
  Kind kind = Kind::Uniform;
  double sigma = 0;                               // of Lognormal, between experts
  std::vector<std::vector<int64_t>> counts = {};  // of Measured: rows of each expert, by layer
};

// "uniform", "worst" or "lognormal:S".
LoadModel parse_load_model(const std::string& text);

// The rows of the fullest of `ranks`, relative to their mean, where each has the same number of
// neighbouring experts; infinite for the worst case, in which pools are full.
double fullest_rank(const LoadModel& load, int64_t experts, int64_t ranks);

}  // namespace tessera
