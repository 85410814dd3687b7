// SPDX-License-Identifier: Apache-2.0
// A lower bound of a step's time: the schedule's table, replayed for all ranks as the compiler
// writes their scripts, routine by routine: weights are gathered one call ahead, sums of gradients
// travel until their bytes are needed, messages leave one after the other. What it leaves out, such
// as links that different transfers share, only makes a step longer.
#pragma once

#include <span>

#include "compiler/message_times.h"
#include "planner/stage_floor.h"

namespace tessera {

// In the order of the times by which the compiler decides when messages are waited for: whatever an
// action waits for comes before it.
struct ScheduleTable {
  explicit ScheduleTable(Schedule of);

  Schedule schedule;
  MessageTimes messages;
  std::vector<ActionPlace> order;
};

// `holds_runs`: a stage keeps gathered weights for a run of microbatches.
double least_seconds(const ScheduleTable& table, std::span<const StageFloor> stages,
                     bool holds_runs);

}  // namespace tessera
