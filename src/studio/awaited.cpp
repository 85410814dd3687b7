// SPDX-License-Identifier: Apache-2.0
#include "studio/awaited.h"

#include <algorithm>

namespace tessera {
namespace {

// Waits stand in the routine of what they wait for, or in one that is named after it.
bool may_wait_for(RoutineKind wait, RoutineKind started) {
  const std::string_view own = name(wait), other = name(started);
  return wait == started || (own.starts_with(other) &&
                             (own.substr(other.size()) == "_wait" || own.ends_with("_done")));
}

bool is_same_memory(const Program& program, int class_index, int a, int b) {
  if (a == b) return true;
  const auto block = std::ranges::find(program.blocks, class_index, &ProgramBlock::class_index);
  const auto at = [](const auto& list, int buffer) { return list[static_cast<size_t>(buffer)]; };
  return block != program.blocks.end() && at(block->offsets, a) == at(block->offsets, b) &&
         at(block->repeats, a) == at(block->repeats, b);
}

}  // namespace

std::optional<StartedInstruction> find_awaited(const Program& program, int class_index,
                                               RoutineKind routine, size_t index) {
  const ProgramClass& program_class = program.classes[static_cast<size_t>(class_index)];
  const Instruction& wait = program_class.routine(routine)[index];
  if (!wait.as<WaitInstruction>()) return std::nullopt;
  const int held = awaited_buffer(wait);
  for (const RoutineRow& row : kRoutines) {
    if (!may_wait_for(routine, row.routine)) continue;
    const auto& started = program_class.routine(row.routine);
    const size_t end = row.routine == routine ? index : started.size();
    for (size_t i = end; i-- > 0;)
      if (is_started(started[i]) &&
          is_same_memory(program, class_index, held, awaited_buffer(started[i])))
        return StartedInstruction{row.routine, i};
  }
  return std::nullopt;
}

}  // namespace tessera
