// SPDX-License-Identifier: Apache-2.0
// What went wrong in a run, as far as its record shows: steps far slower than the rest, restarts,
// ends before the end.
#pragma once

#include "record/run_record.h"

namespace tessera {

inline constexpr double kStallOverMedian = 2;  // a step that takes longer than this many medians

struct Stall {
  int64_t step = 0;
  double seconds = 0, times_median = 0;
  std::string grew = {};  // the part that grew most: "compute", "data", ...; empty: not recorded
};

// The longest first. Nothing where there are too few steps to have a median worth the name.
std::vector<Stall> stalls_of(const RunRecord& record);

// One sentence each, about "it", in the order they happened. Runs that were killed or failed, and
// where they went on; a stop that nobody resumed; a loss that was no number, lines that were cut
// short. A run that ended and was resumed is none.
std::vector<std::string> failures_of(const RunRecord& record);

}  // namespace tessera
