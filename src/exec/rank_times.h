// SPDX-License-Identifier: Apache-2.0
// Where a rank's time in a script went, and the same of a step, over all ranks.
#pragma once

#include <algorithm>
#include <span>

namespace tessera {

struct RankTimes {
  double run_seconds = 0;  // from the script's begin to its end, on this rank
  // Of these: in collectives and waits for them, its own share of moving bytes included.
  double exposed_communication_seconds = 0;
  double bubble_seconds = 0;  // the same where ranks of another stage take part
};

// Means over ranks; the parts add up to the time of the rank that ends last.
struct StepSplit {
  double compute_seconds = 0;
  double exposed_communication_seconds = 0;
  double bubble_seconds = 0;  // stood still for another stage, or until the last rank had ended

  double seconds() const {
    return compute_seconds + exposed_communication_seconds + bubble_seconds;
  }
  StepSplit& operator+=(const StepSplit& other) {
    compute_seconds += other.compute_seconds;
    exposed_communication_seconds += other.exposed_communication_seconds;
    bubble_seconds += other.bubble_seconds;
    return *this;
  }
  StepSplit& operator/=(double steps) {
    compute_seconds /= steps;
    exposed_communication_seconds /= steps;
    bubble_seconds /= steps;
    return *this;
  }
};

// How unequal the ranks' own work was: without standing still, in which all end up alike.
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

inline StepSplit split_of(std::span<const RankTimes> ranks) {
  StepSplit split;
  double longest = 0;
  for (const RankTimes& rank : ranks) longest = std::max(longest, rank.run_seconds);
  for (const RankTimes& rank : ranks) {
    const double share = 1.0 / static_cast<double>(ranks.size());
    split.compute_seconds += share * own_seconds(rank);
    split.exposed_communication_seconds += share * rank.exposed_communication_seconds;
    split.bubble_seconds += share * (rank.bubble_seconds + longest - rank.run_seconds);
  }
  return split;
}

}  // namespace tessera
