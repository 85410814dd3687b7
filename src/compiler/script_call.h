// SPDX-License-Identifier: Apache-2.0
// One line of a script: a routine of a block's class, for a microbatch.
#pragma once

#include "program/program.h"

namespace tessera {

inline bool has_routine(const Program& program, RoutineKind routine, int block) {
  return !program.class_of(program.blocks[static_cast<size_t>(block)]).routine(routine).empty();
}

inline ScriptCall make_call(const Program& program, RoutineKind routine, int block, int microbatch,
                            int channel = kNone) {
  return {.routine = routine,
          .block = block,
          .microbatch = microbatch,
          .first = microbatch == 0,
          .last = microbatch == program.microbatches - 1,
          .accumulate = {},
          .bases = {},
          .channel = channel};
}

}  // namespace tessera
