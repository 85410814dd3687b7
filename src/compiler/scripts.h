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

// The blocks whose flat weights a call reads, or whose gradients it writes: itself, and the owners
// of what it ties. Worked out once for all calls of a block's routine.
class FlatUses {
 public:
  FlatUses(const Module& module, const Program& program) : module_(module), program_(program) {}

  const std::vector<int>& weights_read(const ScriptCall& call) { return of(call).weights_read; }
  const std::vector<int>& gradients_written(const ScriptCall& call) {
    return of(call).gradients_written;
  }

 private:
  struct Uses {
    std::vector<int> weights_read, gradients_written;
  };
  const Uses& of(const ScriptCall& call);

  const Module& module_;
  const Program& program_;
  std::map<std::pair<int, RoutineKind>, Uses> uses_;  // by block
};

bool is_backward(RoutineKind routine);

// Gradients of the class are reduced for every microbatch, not only the last.
bool reduces_every_microbatch(const BlockClass& block_class);

}  // namespace tessera
