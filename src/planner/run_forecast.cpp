// SPDX-License-Identifier: Apache-2.0
#include "planner/run_forecast.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

// Around Daly's cadence; enough to see which side of it is better.
constexpr std::array<double, 7> kCadenceFactors{1, 0.5, 0.65, 0.8, 1.25, 1.6, 2};
// Runs to simulate for a choice: enough for this many failures in all, so that chance does not
// decide.
constexpr double kFailuresPerChoice = 8000;
constexpr double kLeastRuns = 4, kMostRuns = 2000;

std::vector<SimulatedRun> simulate_runs(const WholeRun& run, const RunChoices& choices,
                                        uint64_t seed, int runs) {
  std::vector<SimulatedRun> all;
  for (int i = 0; i < runs; ++i)
    all.push_back(simulate_run(run, choices, seed, static_cast<uint64_t>(i)));
  std::ranges::stable_sort(all, {}, &SimulatedRun::seconds);
  return all;
}

int runs_per_choice(const WholeRun& run) {
  const double failures = run.work_seconds() / run.seconds_between_failures();
  return static_cast<int>(std::clamp(kFailuresPerChoice / failures, kLeastRuns, kMostRuns));
}

double mean_of(const std::vector<SimulatedRun>& runs) {
  double sum = 0;
  for (const SimulatedRun& each : runs) sum += each.seconds;
  return sum / static_cast<double>(runs.size());
}

// Whole steps, at least the time to write a checkpoint, at most the run.
int64_t steps_of(const WholeRun& run, double seconds) {
  const double least = std::max(run.conditions.stall_seconds, run.conditions.write_seconds);
  const double steps = std::round(std::max(seconds, least) / run.step_seconds);
  return static_cast<int64_t>(std::clamp(steps, 1.0, static_cast<double>(run.steps)));
}

// Every cadence meets the same failures, so that few runs tell them apart.
int64_t best_save_every(const WholeRun& run, int spares, uint64_t seed, double daly) {
  if (std::isinf(daly)) return run.steps;
  int64_t best = 0;
  double least = 0;
  for (const double factor : kCadenceFactors) {
    const int64_t steps = steps_of(run, factor * daly);
    const double seconds = mean_of(simulate_runs(run, {steps, spares}, seed, runs_per_choice(run)));
    if (best == 0 || seconds < least) {
      best = steps;
      least = seconds;
    }
  }
  return best;
}

// Spare nodes are paid for, and so is waiting for a repair: the number with the fewest rank hours,
// looked for around the one with which hardly any failure waits.
int best_spare_nodes(const WholeRun& run, int64_t save_every, uint64_t seed) {
  const auto rank_seconds = [&](int spares) {
    const double ranks = run.ranks + spares * run.conditions.node_ranks;
    return ranks * mean_of(simulate_runs(run, {save_every, spares}, seed, runs_per_choice(run)));
  };
  int best = spare_nodes(run);
  if (best == 0) return 0;
  double least = rank_seconds(best);
  const int start = best;
  for (const int step : {1, -1})
    for (int spares = start + step; spares >= 0; spares += step) {
      const double needed = rank_seconds(spares);
      if (needed >= least) break;
      least = needed;
      best = spares;
    }
  return best;
}

}  // namespace

double RunForecast::mean_seconds() const { return mean_of(runs); }

double RunForecast::seconds_at(double share) const {
  const auto last = static_cast<double>(runs.size() - 1);
  return runs[static_cast<size_t>(std::llround(share * last))].seconds;
}

double RunForecast::mean(const std::function<double(const SimulatedRun&)>& of) const {
  double sum = 0;
  for (const SimulatedRun& each : runs) sum += of(each);
  return sum / static_cast<double>(runs.size());
}

double goodput(const WholeRun& run, double seconds) { return run.work_seconds() / seconds; }

RunForecast forecast(const WholeRun& run, const ForecastOptions& options) {
  check_headway(run);
  RunForecast found{.choices = {},
                    .young_seconds = young_seconds(run.save_costs()),
                    .daly_seconds = daly_seconds(run.save_costs()),
                    .runs = {}};
  found.choices.spare_nodes = options.spare_nodes.value_or(spare_nodes(run));
  found.choices.save_every = options.save_every ? *options.save_every
                                                : best_save_every(run, found.choices.spare_nodes,
                                                                  options.seed, found.daly_seconds);
  if (!options.spare_nodes)
    found.choices.spare_nodes = best_spare_nodes(run, found.choices.save_every, options.seed);
  found.expected_seconds = expected_seconds(run, found.choices.save_every);
  found.runs = simulate_runs(run, found.choices, options.seed, options.runs);
  return found;
}

std::vector<Sensitivity> sensitivities(const WholeRun& run, const ForecastOptions& options) {
  std::vector<Sensitivity> rows;
  for (const ConditionRow& row : condition_rows()) {
    if (run.conditions.*row.seconds <= 0) continue;
    Sensitivity changed{.name = row.name, .summary = row.summary, .goodput = {}};
    for (const double factor : kSensitivityFactors) {
      WholeRun other = run;
      other.conditions.*row.seconds *= factor;
      try {
        changed.goodput.push_back(goodput(other, forecast(other, options).mean_seconds()));
      } catch (const UserError&) {
        changed.goodput.push_back(-1);
      }
    }
    rows.push_back(std::move(changed));
  }
  return rows;
}

}  // namespace tessera
