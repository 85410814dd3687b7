// SPDX-License-Identifier: Apache-2.0
// What to expect of a whole run: the cadence of checkpoints and the spare nodes that lose least,
// and how long the run takes, with a spread over simulated runs.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "planner/run_simulation.h"

namespace tessera {

struct ForecastOptions {
  uint64_t seed = 0;
  int runs = 200;                          // to simulate
  std::optional<int64_t> save_every = {};  // else the cadence that loses least
  std::optional<int> spare_nodes = {};     // else those with the fewest rank hours
};

struct RunForecast {
  RunChoices choices;
  double young_seconds = 0, daly_seconds = 0;  // between checkpoints, of the formulas
  double expected_seconds = 0;                 // of the run, in closed form
  std::vector<SimulatedRun> runs;              // the fastest first

  double mean_seconds() const;
  double seconds_at(double share) const;  // that this share of the runs takes at most
  double mean(const std::function<double(const SimulatedRun&)>& of) const;
};

// Throws a UserError where the run makes no headway.
RunForecast forecast(const WholeRun& run, const ForecastOptions& options);

// Productive share of the time: steps once, at full speed.
double goodput(const WholeRun& run, double seconds);

// The mean goodput with one figure changed, each with its own best cadence.
struct Sensitivity {
  std::string_view name, summary;
  std::vector<double> goodput;  // by factor; below 0: no headway
};
inline constexpr std::array<double, 5> kSensitivityFactors{0.25, 0.5, 1, 2, 4};
std::vector<Sensitivity> sensitivities(const WholeRun& run, const ForecastOptions& options);

}  // namespace tessera
