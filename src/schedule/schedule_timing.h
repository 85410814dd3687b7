// SPDX-License-Identifier: Apache-2.0
// Computes when each action of a schedule runs if messages take no time: every action begins when
// its rank is free and its inputs are ready. Also the definitions of idle time, bubble and peak.
#pragma once

#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace tessera {

// In any unit of time. A full backward costs both gradients.
struct StageCosts {
  double forward = 1, input_grad = 1, weight_grad = 1;
};

struct TimedAction {
  Action action;
  double begin = 0, end = 0;
};

struct RankTiming {
  std::vector<TimedAction> actions;
  double begin = 0, end = 0;    // of its first and its last action
  double useful = 0;            // sum of its actions
  double span = 0;              // from step to step
  double idle = 0;              // span - useful
  double peak_activations = 0;  // microbatches through all of the rank's stages
};

// Steps follow each other without a barrier: each rank starts the next step with the same delay
// relative to the others as in this one, so the time from step to step is the longest `end - begin`
// of any rank. With a barrier it is `makespan`, which is longer only for zb_h2 and zb_v.
struct ScheduleTiming {
  std::vector<RankTiming> ranks;
  double makespan = 0;         // from the first action to the end of the last
  double bubble_of_total = 0;  // idle / span, over all ranks
  double bubble_of_ideal = 0;  // idle / useful, over all ranks
};

struct TimedSchedule {
  Schedule schedule;
  ScheduleTiming timing;
};

// `costs` are sums over all chunks of a rank: each chunk has 1 / chunks of them.
ScheduleTiming time_schedule(const Schedule& schedule, const StageCosts& costs);
// One entry per stage.
ScheduleTiming time_schedule(const Schedule& schedule, std::span<const StageCosts> costs);

// The largest number of microbatches whose activations are held at once: from the end of a forward
// to the end of the weight gradient. It depends on a rank's order, not on costs.
// By stage: the slots that its activations need.
std::vector<int> most_held_by_stage(const Schedule& schedule);
// By rank, over all of its stages at once: stages times microbatches.
std::vector<int> most_held_by_rank(const Schedule& schedule);

}  // namespace tessera
