// SPDX-License-Identifier: Apache-2.0
// Interleaved 1F1B (Megatron-LM, Narayanan et al. 2021): a group of `ranks` microbatches goes
// through a rank's first chunk, then through its second, and so on; then the next group. The last
// group may be smaller.
#include <algorithm>

#include "schedule/kinds/kinds.h"

namespace tessera {

Schedule interleaved_1f1b(int ranks, int chunks, int microbatches) {
  const int groups = (microbatches + ranks - 1) / ranks;
  Schedule schedule = empty_schedule("interleaved_1f1b", ranks, chunks, groups * ranks);
  const int passes = schedule.microbatches * chunks;  // through one rank, in each direction
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Action>& actions = schedule.actions[static_cast<size_t>(rank)];
    const auto run_pass = [&](ActionKind kind, int pass) {
      const int group = pass / (ranks * chunks), turn = pass / ranks % chunks;
      const int chunk = kind == ActionKind::Forward ? turn : chunks - 1 - turn;
      actions.push_back({kind, chunk * ranks + rank, group * ranks + pass % ranks});
    };
    const int ahead = std::min(passes, 2 * (ranks - rank - 1) + (chunks - 1) * ranks);
    for (int pass = 0; pass < ahead; ++pass) run_pass(ActionKind::Forward, pass);
    for (int pass = 0; pass < passes; ++pass) {
      if (ahead + pass < passes) run_pass(ActionKind::Forward, ahead + pass);
      run_pass(ActionKind::Backward, pass);
    }
  }
  drop_microbatches(schedule, microbatches);
  return schedule;
}

}  // namespace tessera
