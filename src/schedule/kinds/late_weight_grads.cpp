// SPDX-License-Identifier: Apache-2.0
#include "schedule/kinds/late_weight_grads.h"

#include <algorithm>

#include "schedule/kinds/kinds.h"

namespace tessera {

Schedule late_weight_grads(const char* kind, int ranks, int microbatches, int depth) {
  Schedule schedule = empty_schedule(kind, ranks, 1, microbatches);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Action>& actions = schedule.actions[static_cast<size_t>(rank)];
    const int ahead = std::min(microbatches, depth * (ranks - rank - 1));
    const int lag = std::min(microbatches, depth * rank);
    for (int i = 0; i < ahead; ++i) actions.push_back({ActionKind::Forward, rank, i});
    for (int i = 0; i < microbatches; ++i) {
      if (ahead + i < microbatches) actions.push_back({ActionKind::Forward, rank, ahead + i});
      actions.push_back({ActionKind::InputGrad, rank, i});
      if (i >= lag) actions.push_back({ActionKind::WeightGrad, rank, i - lag});
    }
    for (int i = microbatches - lag; i < microbatches; ++i)
      actions.push_back({ActionKind::WeightGrad, rank, i});
  }
  return schedule;
}

}  // namespace tessera
