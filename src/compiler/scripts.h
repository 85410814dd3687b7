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
