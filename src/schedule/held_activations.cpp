// SPDX-License-Identifier: Apache-2.0
#include "schedule/held_activations.h"

#include <algorithm>

namespace tessera {
namespace {

int change(ActionKind kind) {
  if (kind == ActionKind::Forward) return 1;
  return frees_activations(kind) ? -1 : 0;
}

}  // namespace

std::vector<int> most_held_by_stage(const Schedule& schedule) {
  std::vector<int> held(static_cast<size_t>(schedule.num_stages())), most(held.size());
  for (const std::vector<Action>& actions : schedule.actions)
    for (const Action& action : actions) {
      const auto stage = static_cast<size_t>(action.stage);
      held[stage] += change(action.kind);
      most[stage] = std::max(most[stage], held[stage]);
    }
  return most;
}

std::vector<int> most_held_by_rank(const Schedule& schedule) {
  std::vector<int> most;
  for (const std::vector<Action>& actions : schedule.actions) {
    int held = 0;
    most.push_back(0);
    for (const Action& action : actions) {
      held += change(action.kind);
      most.back() = std::max(most.back(), held);
    }
  }
  return most;
}

}  // namespace tessera
