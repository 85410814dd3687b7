// SPDX-License-Identifier: Apache-2.0
// Which rank the others wait for, by ranks.jsonl: ranks of one stage have equal work.
#pragma once

#include <optional>

#include "record/run_record.h"

namespace tessera {

struct SlowRank {
  int rank = 0;
  double seconds = 0;        // of its own work in a step, mean over all lines
  double usual_seconds = 0;  // the median of the ranks of its stage
  int stage_ranks = 1;       // whose work is compared

  double over() const { return usual_seconds > 0 ? seconds / usual_seconds - 1 : 0; }
};

// The rank that is furthest above the median of its stage. Nothing where no stage has two ranks, or
// none were recorded.
std::optional<SlowRank> slowest_rank_of(const RunRecord& record);

}  // namespace tessera
