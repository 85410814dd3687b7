// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <fmt/format.h>

namespace tessera {

bool splits_backward(const Schedule& schedule) {
  for (const std::vector<Action>& rank : schedule.actions)
    for (const Action& action : rank)
      if (action.kind == ActionKind::InputGrad || action.kind == ActionKind::WeightGrad)
        return true;
  return false;
}

std::vector<int> chunk_of_stage(const Schedule& schedule) {
  std::vector<int> chunks, found(static_cast<size_t>(schedule.ranks));
  for (const int rank : schedule.rank_of_stage)
    chunks.push_back(found[static_cast<size_t>(rank)]++);
  return chunks;
}

char letter(ActionKind kind) { return "FBIW"[static_cast<size_t>(kind)]; }

const char* name(ActionKind kind) {
  constexpr const char* kNames[] = {"forward", "backward", "input_grad", "weight_grad"};
  return kNames[static_cast<size_t>(kind)];
}

std::string to_string(const Action& action) {
  return fmt::format("{}{}{}", action.stage, letter(action.kind), action.microbatch);
}

}  // namespace tessera
