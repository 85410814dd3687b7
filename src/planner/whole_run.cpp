// SPDX-License-Identifier: Apache-2.0
#include "planner/whole_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/quantities.h"

namespace tessera {

double WholeRun::seconds_between_failures() const {
  if (conditions.rank_failure_seconds <= 0) return std::numeric_limits<double>::infinity();
  return conditions.rank_failure_seconds / ranks;
}

SaveCosts WholeRun::save_costs() const {
  return {.stall_seconds = conditions.stall_seconds,
          .written_seconds = conditions.write_seconds,
          .step_seconds = step_seconds,
          .seconds_between_failures = seconds_between_failures()};
}

// Work goes on while a checkpoint is written, and is repeated where a failure comes before its end:
// in the mean as much as if each stretch of work ended that much later.
double expected_seconds(const WholeRun& run, int64_t save_every) {
  const double mean = run.seconds_between_failures();
  const RunConditions& own = run.conditions;
  const int64_t whole = (run.steps + save_every - 1) / std::max<int64_t>(1, save_every);
  const auto stretches = static_cast<double>(whole);
  const double saving = (stretches - 1) * own.stall_seconds;
  if (std::isinf(mean)) return run.work_seconds() + saving;
  const double down = own.detect_seconds + own.restart_seconds;
  const double hidden = std::max(0.0, own.write_seconds - own.stall_seconds);
  const double stretch = (run.work_seconds() + saving) / stretches;
  // exp(down / mean) mean (exp(stretch / mean) - 1) is the time until a stretch has been made
  // without a failure; a checkpoint that is not yet written adds `hidden` to what each one repeats.
  const double failures = std::expm1(stretch / mean) * stretches;
  return std::exp(down / mean) * mean * failures + failures * hidden;
}

// Nodes in repair are a Poisson number: failures arrive at random, and each is away as long.
int spare_nodes(const WholeRun& run) {
  constexpr double kWaits = 0.01;
  const double mean = run.conditions.repair_seconds / run.seconds_between_failures();
  if (mean <= 0) return 0;
  const auto most = static_cast<int>(std::ceil(mean + 10 * std::sqrt(mean) + 10));
  double share = 0;
  for (int away = 0; away < most; ++away) {
    share += std::exp(away * std::log(mean) - mean - std::lgamma(away + 1.0));
    if (1 - share < kWaits) return away + 1;
  }
  return most;
}

void check_headway(const WholeRun& run) {
  constexpr double kMostTimes = 5;
  const int64_t cadence = best_cadence(run.save_costs()).steps;
  if (expected_seconds(run, std::min(cadence, run.steps)) <= kMostTimes * run.work_seconds())
    return;
  throw user_error(
      "the run makes no headway: {} ranks fail every {}, and detecting it, restarting and "
      "repeating "
      "what was not saved takes most of the time",
      run.ranks, short_duration(run.seconds_between_failures()))
      .at("--mtbf")
      .help("use fewer ranks, or lower --detect, --restart, --save-stall and --save-write");
}

}  // namespace tessera
