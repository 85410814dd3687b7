// SPDX-License-Identifier: Apache-2.0
// Writes a program's scripts: the order of routine calls in a training step, an evaluation, or a
// forward alone.
#pragma once

#include <map>

#include "compiler/message_times.h"
#include "ir/module.h"
#include "program/program.h"
#include "schedule/schedule.h"

namespace tessera {

// One line of a script: a routine of a block's class, for a microbatch.
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

// A stage of this rank: its blocks, and the channels to its neighbours; kNone where it has none.
struct StageEdges {
  int first_block = 0, last_block = 0;
  int stream_in = kNone, stream_out = kNone, gradient_in = kNone, gradient_out = kNone;
  bool stream_in_is_local = false, gradient_in_is_local = false;  // from this very rank
};
struct Stages {
  std::map<int, StageEdges> edges;  // by stage
  bool hold_runs = true;            // weights stay gathered for a run of microbatches
};

// The program must have its classes, blocks and channels.
void write_scripts(const Module& module, Program& program, const Stages& stages,
                   const std::vector<Action>& actions, const ScheduleMessages& messages);

}  // namespace tessera
