// SPDX-License-Identifier: Apache-2.0
// Runs one instruction on the CPU: a kernel here, anything else by the runner. A collective without
// a wait of its own is waited for at once.
#pragma once

#include "exec/instruction_runner.h"
#include "exec/rank_executor.h"

namespace tessera {

ByteMover memory_mover();

// `channel` is that of the script call; kNone: it has none.
void run_instruction(const Instruction& instruction, int channel, const BoundCall& bound,
                     InstructionRunner& runner, ThreadPool& threads);

}  // namespace tessera
