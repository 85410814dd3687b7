// SPDX-License-Identifier: Apache-2.0
// What a wait waits for.
#pragma once

#include <optional>

#include "program/program.h"

namespace tessera {

struct StartedInstruction {
  RoutineKind routine;
  size_t index;  // in the routine
};

// The collective, send or receive of the same class that the wait ends; nothing where the
// instruction is no wait.
std::optional<StartedInstruction> find_awaited(const Program& program, int class_index,
                                               RoutineKind routine, size_t index);

}  // namespace tessera
