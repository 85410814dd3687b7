// SPDX-License-Identifier: Apache-2.0
// One instruction on the CPU: a kernel, or what the runner does; a collective that nobody else
// waits for is waited for.
#pragma once

#include "exec/instruction_runner.h"
#include "exec/rank_executor.h"

namespace tessera {

ByteMover memory_mover();

// `channel` is that of the script call; kNone: it has none.
void run_instruction(const Instruction& instruction, int channel, const BoundCall& bound,
                     InstructionRunner& runner, ThreadPool& threads);

}  // namespace tessera
