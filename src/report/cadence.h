// SPDX-License-Identifier: Apache-2.0
// How often to save: where what saving costs and what a failure throws away are least together
// (Young 1974, Daly 2006).
#pragma once

#include <cstdint>

namespace tessera {

struct SaveCosts {
  double stall_seconds = 0;    // that steps stand still for one checkpoint
  double written_seconds = 0;  // that it is written behind them
  double step_seconds = 0;
  double seconds_between_failures = 0;
};

struct Cadence {
  int64_t steps = 1;      // between two checkpoints
  double lost_share = 0;  // of the time, by stalls and by steps done again
};

// At least as long as one is written, and at least a step.
Cadence best_cadence(const SaveCosts& costs);

}  // namespace tessera
