// SPDX-License-Identifier: Apache-2.0
// 1F1B (PipeDream-Flush, Narayanan et al. 2021): rank i has ranks - i - 1 warm-up forwards, then
// alternates one forward and one backward, so it never holds more than ranks - i microbatches.
#include <algorithm>

#include "schedule/kinds/kinds.h"

namespace tessera {

Schedule one_f_one_b(int ranks, int chunks, int microbatches) {
  Schedule schedule = empty_schedule("1f1b", ranks, chunks, microbatches);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Action>& actions = schedule.actions[static_cast<size_t>(rank)];
    const int ahead = std::min(microbatches, ranks - rank - 1);
    for (int i = 0; i < ahead; ++i) actions.push_back({ActionKind::Forward, rank, i});
    for (int i = 0; i < microbatches; ++i) {
      if (ahead + i < microbatches) actions.push_back({ActionKind::Forward, rank, ahead + i});
      actions.push_back({ActionKind::Backward, rank, i});
    }
  }
  return schedule;
}

}  // namespace tessera
