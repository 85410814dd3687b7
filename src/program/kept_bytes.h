// SPDX-License-Identifier: Apache-2.0
// What a class's forward keeps in the slot arena, for traces that show memory in use.
#pragma once

#include "program/program.h"

namespace tessera {

inline int64_t kept_bytes(const ProgramClass& program_class) {
  int64_t bytes = 0;
  for (const Instruction& instruction : program_class.routine(RoutineKind::Forward))
    for (const int result : instruction.results) {
      const Buffer& buffer = program_class.buffers[static_cast<size_t>(result)];
      if (buffer.lifetime == Lifetime::Slot) bytes += buffer.type.bytes();
    }
  return bytes;
}

}  // namespace tessera
