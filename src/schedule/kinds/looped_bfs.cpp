// SPDX-License-Identifier: Apache-2.0
// Breadth-first pipeline (Lamy-Poirier 2022): all microbatches go through one chunk, then all
// through the next, and back. A chunk's weights are gathered once per pass, for any number of
// microbatches.
#include "schedule/kinds/kinds.h"

namespace tessera {

Schedule looped_bfs(int ranks, int chunks, int microbatches) {
  Schedule schedule = empty_schedule("looped_bfs", ranks, chunks, microbatches);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Action>& actions = schedule.actions[static_cast<size_t>(rank)];
    const auto run_chunk = [&](ActionKind kind, int chunk) {
      for (int i = 0; i < microbatches; ++i) actions.push_back({kind, chunk * ranks + rank, i});
    };
    for (int chunk = 0; chunk < chunks; ++chunk) run_chunk(ActionKind::Forward, chunk);
    for (int chunk = chunks; chunk-- > 0;) run_chunk(ActionKind::Backward, chunk);
  }
  return schedule;
}

}  // namespace tessera
