// SPDX-License-Identifier: Apache-2.0
// What one rank did, or would do by a simulation, as trace events (docs/trace.md): its routines
// with their kernels inside them on one track, its collectives on others, arrows between ranks, and
// a counter of memory.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace tessera {

// From begin to end, in seconds since the trace began.
struct Slice {
  double begin_seconds = 0, end_seconds = 0;
  const ScriptCall* call = nullptr;
  const Instruction* instruction = nullptr;  // null: the whole routine that is called
  int64_t bytes = 0;  // that the instruction reads and writes, or gives to a collective
  int step = 1;       // of the trace; 0: not part of a training step
};

// Where an instruction stands in a training step: its call in the script, and itself in the routine
// that is called. Steps run in this order.
struct StepPlace {
  int64_t call = 0, index = 0;
  auto operator<=>(const StepPlace&) const = default;
};
// Nothing for another script, and for a program that was replaced since.
std::optional<StepPlace> place_in_step(const Program& program, const ScriptCall& call,
                                       const Instruction& instruction);

// Each list in order of begin.
struct RankTrace {
  std::vector<Slice> routines;
  std::vector<Slice> kernels;
  std::vector<Slice> collectives;  // from their start to the end of their wait
};

// Items of a JSON list, for trace_json. The last argument: how many identical ranks this one
// represents.
std::string trace_events(const Program& program, const RankTrace& trace, int rank, int alike = 1);

}  // namespace tessera
