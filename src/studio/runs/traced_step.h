// SPDX-License-Identifier: Apache-2.0
// One step of a run's trace, each slice laid to the instruction of the compiled program that it is.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"
#include "studio/runs/run_folders.h"
#include "studio/runs/trace_lines.h"

namespace tessera {

struct AlignedSlice {
  int rank = 0;
  const ScriptCall* call = nullptr;
  const Instruction* instruction = nullptr;
  bool transfers = false;  // from its start to the end of its wait
  double begin_seconds = 0, end_seconds = 0;
};

struct TracedStep {
  int64_t step = 0;         // which one, of the trace
  std::set<int64_t> steps;  // all that the trace has
  std::vector<AlignedSlice> slices;
  int64_t unknown = 0;  // slices of the step that are no instruction of the program
  int64_t outside = 0;  // slices of the whole trace that are of no training step
  double begin_seconds = 0, end_seconds = 0;  // of the step, on the trace's clock
};

// The last step, or the one that is asked for. A UserError where there is no trace, where it is too
// large, or where it names no instructions.
TracedStep read_traced_step(const FoundRun& run, const std::string& file,
                            const std::vector<Program>& programs,
                            std::optional<int64_t> wanted_step);

// By coordinate along the pipeline.
size_t program_of_rank(const std::vector<Program>& programs, int rank);

}  // namespace tessera
