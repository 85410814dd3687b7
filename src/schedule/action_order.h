// SPDX-License-Identifier: Apache-2.0
// All actions of a schedule in one order, each after the actions that it waits for. Sends never
// wait; a receive waits for its message.
#pragma once

#include <optional>
#include <vector>

#include "schedule/schedule.h"

namespace tessera {

struct ActionPlace {
  int rank = 0;
  size_t position = 0;  // among the rank's actions
};

// The stage whose result for the same microbatch an action waits for: the previous one's
// activations, or the next one's input gradient. The rank's order takes care of the actions on its
// own stage.
std::optional<int> awaited_stage(const Schedule& schedule, const Action& action);

// The index of stage and microbatch in a table of both.
inline size_t entry(const Schedule& schedule, int stage, int microbatch) {
  return static_cast<size_t>(stage) * static_cast<size_t>(schedule.microbatches) +
         static_cast<size_t>(microbatch);
}

// A UserError that says what every stuck rank waits for when the schedule deadlocks. Stages and
// microbatches must be in range.
std::vector<ActionPlace> action_order(const Schedule& schedule);

}  // namespace tessera
