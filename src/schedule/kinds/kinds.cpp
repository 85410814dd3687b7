// SPDX-License-Identifier: Apache-2.0
#include "schedule/kinds/kinds.h"

namespace tessera {

Schedule empty_schedule(const char* kind, int ranks, int chunks, int microbatches) {
  Schedule schedule{.kind = kind,
                    .ranks = ranks,
                    .chunks = chunks,
                    .microbatches = microbatches,
                    .actions = {},
                    .rank_of_stage = {}};
  schedule.actions.resize(static_cast<size_t>(ranks));
  for (int stage = 0; stage < schedule.num_stages(); ++stage)
    schedule.rank_of_stage.push_back(stage % ranks);
  return schedule;
}

void drop_microbatches(Schedule& schedule, int microbatches) {
  schedule.microbatches = microbatches;
  for (std::vector<Action>& actions : schedule.actions)
    std::erase_if(actions, [&](const Action& action) { return action.microbatch >= microbatches; });
}

}  // namespace tessera
