// SPDX-License-Identifier: Apache-2.0
// Memory in use while a script runs, for traces: what is always there, and what the blocks that ran
// forward, or were rebuilt, keep until their backward. Streams between stages and between rebuilt
// blocks are left out.
#pragma once

#include <algorithm>

#include "program/program.h"

namespace tessera {

class KeptBytes {
 public:
  explicit KeptBytes(const Program& program) : program_(program) {}

  // Of the rank while the call runs; calls come in the script's order.
  int64_t during(const ScriptCall& call) {
    const int64_t block = bytes_of(program_.blocks[static_cast<size_t>(call.block)]);
    if (call.routine == (program_.recomputes ? RoutineKind::Recompute : RoutineKind::Forward))
      kept_ += block;
    if (call.routine == RoutineKind::ActivationsIn) kept_ += away_bytes_of(call);
    const int64_t now =
        program_.persistent_bytes + program_.window_bytes + program_.scratch_bytes + kept_;
    if (call.routine == RoutineKind::Backward || call.routine == RoutineKind::WeightGrad)
      kept_ -= std::min(kept_, block);
    if (call.routine == RoutineKind::ActivationsOutDone)
      kept_ -= std::min(kept_, away_bytes_of(call));
    return now;
  }

 private:
  int64_t bytes_of(const ProgramBlock& block) const {
    const ProgramClass& program_class = program_.class_of(block);
    int64_t bytes = 0;
    for (const Instruction& instruction : program_class.routine(RoutineKind::Forward))
      for (const int result : writes(instruction)) {
        const Repeat repeat = block.repeats[static_cast<size_t>(result)];
        if (repeat == Repeat::PerSlot || repeat == Repeat::Away)
          bytes += program_class.buffers[static_cast<size_t>(result)].type.bytes();
      }
    return bytes;
  }
  // Of what goes to the host and back.
  int64_t away_bytes_of(const ScriptCall& call) const {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const ProgramClass& program_class = program_.class_of(block);
    int64_t bytes = 0;
    for (const Instruction& instruction : program_class.routine(RoutineKind::ActivationsOut))
      bytes += program_class.buffers[static_cast<size_t>(reads(instruction).front())].type.bytes();
    return bytes;
  }

  const Program& program_;
  int64_t kept_ = 0;
};

}  // namespace tessera
