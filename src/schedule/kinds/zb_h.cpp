// SPDX-License-Identifier: Apache-2.0
// ZB-H1 and ZB-H2 (Qi et al. 2023): 1F1B whose weight gradients fill the gaps at its end.
#include <algorithm>

#include "schedule/kinds/kinds.h"
#include "schedule/schedule.h"

namespace tessera {

namespace {

// Rank i has depth * (ranks - i - 1) warm-up forwards, and its weight gradients run depth * i
// microbatches after input gradients. Every rank then holds at most depth * (ranks - 1) + 1
// microbatches.
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

}  // namespace

// As many warm-up forwards as 1F1B.
Schedule zb_h1(int ranks, int /*chunks*/, int microbatches) {
  return late_weight_grads("zb_h1", ranks, microbatches, 1);
}

// Twice as many warm-up forwards as 1F1B, so that no rank waits for its
// first gradient when forward, input and weight gradients cost the same.
Schedule zb_h2(int ranks, int /*chunks*/, int microbatches) {
  return late_weight_grads("zb_h2", ranks, microbatches, 2);
}

}  // namespace tessera
