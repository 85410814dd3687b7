// SPDX-License-Identifier: Apache-2.0
// A run from its first step to its last, and what can be said of it in closed form: how often it
// fails, how long it takes with checkpoints at a cadence (Daly 2006), and how many spare nodes it
// needs. What has no closed form is simulated (run_simulation.h).
#pragma once

#include <vector>

#include "planner/cadence.h"
#include "planner/run_conditions.h"

namespace tessera {

struct WholeRun {
  int ranks = 1;
  double step_seconds = 1;
  int64_t steps = 1;
  RunConditions conditions = {};
  // Of an elastic run, which continues without failed nodes until they are repaired: by how much
  // longer a step takes with none, one, two nodes away. With one more it waits, as it does at once
  // where this is empty.
  std::vector<double> away_factors = {};

  double work_seconds() const { return step_seconds * static_cast<double>(steps); }
  // Of any of the ranks; infinite where none ever fails.
  double seconds_between_failures() const;
  SaveCosts save_costs() const;
};

// The mean time that the run takes, with a checkpoint every `save_every` steps: failures are
// independent, also strike while it detects one and restarts, and spares are at hand. Slow nodes,
// stragglers and planned interruptions are not in it.
double expected_seconds(const WholeRun& run, int64_t save_every);

// Nodes in reserve with which fewer than one failure in a hundred waits for a repair.
int spare_nodes(const WholeRun& run);

// A UserError where failures are so frequent that less than a fifth of the time is productive.
void check_headway(const WholeRun& run);

}  // namespace tessera
