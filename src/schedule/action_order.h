// SPDX-License-Identifier: Apache-2.0
// All actions of a schedule in one order in which each stands behind what it waits for. Sends never
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
// activations, or the next one's input gradient. What comes before on the action's own stage is a
// matter of the rank's order.
std::optional<int> awaited_stage(const Schedule& schedule, const Action& action);

// Where stage and microbatch have their entry in a table of them.
inline size_t entry(const Schedule& schedule, int stage, int microbatch) {
  return static_cast<size_t>(stage) * static_cast<size_t>(schedule.microbatches) +
         static_cast<size_t>(microbatch);
}

// A UserError that says what every stuck rank waits for when the schedule deadlocks. Stages and
// microbatches must be in range.
std::vector<ActionPlace> action_order(const Schedule& schedule);

}  // namespace tessera
