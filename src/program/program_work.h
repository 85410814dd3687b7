// SPDX-License-Identifier: Apache-2.0
// The work that programs run, by the ops' own cost rules. Recomputation in the backward counts, the
// sums of collectives do not.
#pragma once

#include "ir/op_def.h"
#include "program/program.h"

namespace tessera {

// Of one run of a script, over all ranks.
struct ProgramWork {
  double flops = 0;
  double recompute_flops = 0;  // of these, spent on running forward work again
  // The smallest of m, n and k of the matmul that does the median flop of all matmuls; 0: there are
  // none.
  int64_t matmul_side = 0;
};

// Of one instruction, on one rank; a sum over ranks counts as its elements, once for each other
// rank.
Cost cost_of(const Program& program, const ProgramClass& program_class,
             const Instruction& instruction);

// By place along the pipeline, as compiled.
ProgramWork work_of(std::span<const Program> programs, std::string_view script);

}  // namespace tessera
