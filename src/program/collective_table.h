// SPDX-License-Identifier: Apache-2.0
// What a script's collectives move, by routine, op and axes, and which of them overlap with
// kernels.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tessera {

struct CollectiveRow {
  RoutineKind routine;
  std::string op, axes;          // "all_gather", "dp+cp"
  int64_t calls = 0, bytes = 0;  // bytes: what one rank puts in
  double sent_bytes = 0;         // over links by one rank; a receive sends nothing
  int64_t hidden = 0;            // calls with a kernel between start and wait
};

// What a rank sends in an instruction, by the table of docs/parallelism/README.md.
double sent_bytes(const Program& program, const ProgramClass& program_class,
                  const Instruction& instruction);

std::vector<CollectiveRow> collective_table(const Program& program, const Script& script);

}  // namespace tessera
