// SPDX-License-Identifier: Apache-2.0
// What went wrong in a run, as far as its record shows: steps that are much slower than the rest,
// restarts, early ends.
#pragma once

#include "record/run_record.h"

namespace tessera {

inline constexpr double kStallOverMedian = 2;  // a step that takes longer than this many medians

struct Stall {
  int64_t step = 0;
  double seconds = 0, times_median = 0;
  std::string grew = {};  // the part that grew most: "compute", "data", ...; empty: not recorded
};

// The longest first. Nothing if there are too few steps for a meaningful median.
std::vector<Stall> stalls_of(const RunRecord& record);

// One sentence each, about "it", in the order they happened. Reports kills, failures and resumes; a
// stop without a later resume; losses that are not finite; truncated lines. A run that ended and
// was resumed did not fail.
std::vector<std::string> failures_of(const RunRecord& record);

// Whether it failed, was resumed after every failure, ended as planned, and its record is whole:
// nothing is left to be done.
bool came_back(const RunRecord& record);

}  // namespace tessera
