// SPDX-License-Identifier: Apache-2.0
// ranks.jsonl: where the time of each rank went, a line every train.log_every steps with the means
// over the steps since the line before. Of more than 128 ranks a line has 128 rows, each of ranks
// that follow one another and told by the slowest of them: a line stays below 6 kB.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/rank_times.h"

namespace tessera {

inline constexpr const char* kRanksFile = "ranks.jsonl";
inline constexpr size_t kMostRankRows = 128;

// Row i is of rank `rank[i]`. The three parts of a row add up to the time of the rank that ends
// last, as in metrics.jsonl.
struct RankLine {
  int64_t step = 0;   // the last of those that it is a mean over
  int64_t steps = 1;  // how many
  int64_t ranks = 0;  // of the run
  std::vector<int> rank = {};
  std::vector<double> compute_seconds = {}, exposed_communication_seconds = {}, bubble_seconds = {};
};

// Sums over steps, until a line is taken.
class RankSums {
 public:
  void add(std::span<const RankTimes> ranks);
  RankLine take(int64_t step);  // and begins again

 private:
  int64_t steps_ = 0;
  std::vector<StepTimes> sums_;
};

std::string to_json_line(const RankLine& line);
// Nothing where the text is no such line, or its lists are not of one length.
std::optional<RankLine> parse_rank_line(std::string_view text);

}  // namespace tessera
