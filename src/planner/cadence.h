// SPDX-License-Identifier: Apache-2.0
// How often to save, so that the cost of saving plus the work lost by failures is minimal (Young
// 1974, Daly 2006).
#pragma once

#include <cstdint>

namespace tessera {

struct SaveCosts {
  double stall_seconds = 0;    // that one checkpoint stalls training
  double written_seconds = 0;  // that writing it in the background takes
  double step_seconds = 0;
  double seconds_between_failures = 0;
};

struct Cadence {
  int64_t steps = 1;      // between two checkpoints
  double lost_share = 0;  // of the time, by stalls and repeated steps
};

// Seconds between two checkpoints that lose least, before they are rounded to steps: Young's first
// order and Daly's next two, which matter once failures are frequent.
double young_seconds(const SaveCosts& costs);
double daly_seconds(const SaveCosts& costs);

// At least the time to write one, and at least a step.
Cadence best_cadence(const SaveCosts& costs);

}  // namespace tessera
