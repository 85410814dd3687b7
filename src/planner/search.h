// SPDX-License-Identifier: Apache-2.0
// Finds the fastest candidates, best first by their lower bounds (floors): the one with the lowest
// is simulated next, until every remaining bound is above the tenth best step. The ranking is then
// that of a search that simulates everything.
#pragma once

#include <functional>
#include <span>

#include "planner/enumerate.h"
#include "planner/floor.h"
#include "planner/trial.h"

namespace tessera {

struct SearchProgress {
  size_t considered = 0, simulated = 0;
  double best_mfu = 0;                 // 0: nothing fits yet
  double floor_seconds = 0;            // of the next one
  std::span<const Trial> ranked = {};  // those that fit so far, the fastest first
};

struct SearchOptions {
  size_t most_trials = 2000;  // then the search ends
  bool use_floors = true;     // else everything is simulated
  int threads = 2;
  // Called now and then, on the thread that searches. False: nobody waits for the result any more,
  // and the search ends with what it has.
  std::function<bool(const SearchProgress&)> progress = {};
};

struct SearchResult {
  std::vector<Trial> ranked;    // those that fit, the fastest first
  std::vector<Trial> dropped;   // compiled, but too large or refused
  std::optional<Trial> recipe;  // the rule of thumb's first suggestion that fits
  std::string recipe_problem;   // where nothing that it suggests divides: what, and why
  std::map<Obstacle, int64_t> indivisible;
  int64_t too_large = 0;  // by their floor of bytes
  int64_t too_slow = 0;   // by their floor of seconds
  // Where most_trials ended the search: the lowest floor that is left.
  std::optional<double> floor_left_seconds;
  bool cancelled = false;  // by the progress
};

inline constexpr size_t kRankedPlans = 10;

SearchResult search(const PlanTask& task, const SearchOptions& options);

}  // namespace tessera
