// SPDX-License-Identifier: Apache-2.0
// Lower bounds of the time and memory of a stage's blocks on their rank and, by the schedule's
// table, of the step over all stages.
#pragma once

#include <span>

#include "planner/block_profile.h"
#include "schedule/action_order.h"

namespace tessera {

// One block of a chain, as candidates share it.
struct BlockFloor {
  const BlockProfile* block;
  const StateProfile* states;
};

struct StageFloor {
  double forward = 0, input_grad = 0, weight_grad = 0;  // seconds of one microbatch
  double reduction = 0;                                 // added to a backward that reduces
  double last_travel = 0;         // of the sum that starts last, when that backward is done
  bool adds_up = false;           // a single block need not reduce for every microbatch
  double travel = 0, gather = 0;  // of all blocks; the largest block's gather may be saved
  double update = 0;
  double hop = 0;            // from the stage before, or back to it
  double rest_bytes = 0;     // always in use
  double window_bytes = 0;   // of buffers that come and go
  double held_bytes = 0;     // of a microbatch, from forward to backward
  double rebuilt_bytes = 0;  // besides, in the backward
};

// Of a block's states, as they are stored.
double rest_bytes(const Candidate& candidate, const BlockProfile& block);
StageFloor floor_of_stage(const Candidate& candidate, std::span<const BlockFloor> blocks);

struct ScheduleTable {
  Schedule schedule;
  std::vector<ActionPlace> order;
};

double least_seconds(const Candidate& candidate, const ScheduleTable& table,
                     std::span<const StageFloor> stages);
// Of the fullest rank.
double least_bytes(const Schedule& schedule, std::span<const StageFloor> stages);

}  // namespace tessera
