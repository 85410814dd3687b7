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
  int64_t hidden = 0;            // calls with a kernel between start and wait
};

std::vector<CollectiveRow> collective_table(const Program& program, const Script& script);

}  // namespace tessera
