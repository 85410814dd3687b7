// SPDX-License-Identifier: Apache-2.0
// What ranks do over time, for pictures: from a simulation, or from the trace of a run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/json.h"
#include "studio/simulated_step.h"

namespace tessera {

struct TimelineBar {
  double begin = 0, end = 0;  // seconds
  std::string name;           // "matmul", "all_reduce"
  std::string axes;           // that a transfer goes along; "pp" between stages
  std::string routine, block;
  int microbatch = 0;

  double seconds() const { return end - begin; }
};

// Each list in order of begin.
struct TimelineRank {
  std::string name;  // "pp=1: rank 2"
  int alike = 1;     // ranks that do the same
  std::vector<TimelineBar> routines, kernels, transfers;
};

struct Timeline {
  std::vector<TimelineRank> ranks;
  double seconds = 0;

  int microbatches() const;
  std::vector<std::string> axes() const;  // of transfers, as they first occur
};

// The slices must have been kept.
Timeline timeline_of(const SimulatedStep& step);

// The last step of a trace as `tessera train --trace` writes it; nothing where it has none.
std::optional<Timeline> timeline_of_trace(const Json& trace);

}  // namespace tessera
