// SPDX-License-Identifier: Apache-2.0
// Where a rank's time in a script went, as measured, and the same as means over all ranks.
#pragma once

#include <algorithm>
#include <span>

#include "program/step_times.h"

namespace tessera {

struct RankTimes {
  double run_seconds = 0;  // from the script's begin to its end, on this rank
  // Of these: in collectives and waits for them, its own share of moving bytes included.
  double exposed_communication_seconds = 0;
  double bubble_seconds = 0;  // the same where ranks of another stage take part
};

// How unequal the ranks' own work was, without the time that they wait for one another.
struct RankSpread {
  int slowest_rank = 0;
  double slowest_seconds = 0, fastest_seconds = 0;
};

inline double own_seconds(const RankTimes& rank) {
  return rank.run_seconds - rank.exposed_communication_seconds - rank.bubble_seconds;
}

inline RankSpread spread_of(std::span<const RankTimes> ranks) {
  const auto less = [](const RankTimes& a, const RankTimes& b) {
    return own_seconds(a) < own_seconds(b);
  };
  const auto [fastest, slowest] = std::minmax_element(ranks.begin(), ranks.end(), less);
  return {.slowest_rank = static_cast<int>(slowest - ranks.begin()),
          .slowest_seconds = own_seconds(*slowest),
          .fastest_seconds = own_seconds(*fastest)};
}

// The parts add up to the time of the rank that ends last.
inline StepTimes mean_times(std::span<const RankTimes> ranks) {
  StepTimes times;
  double longest = 0;
  for (const RankTimes& rank : ranks) longest = std::max(longest, rank.run_seconds);
  for (const RankTimes& rank : ranks) {
    const double share = 1.0 / static_cast<double>(ranks.size());
    times.compute_seconds += share * own_seconds(rank);
    times.exposed_communication_seconds += share * rank.exposed_communication_seconds;
    times.bubble_seconds += share * (rank.bubble_seconds + longest - rank.run_seconds);
  }
  return times;
}

}  // namespace tessera
