// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/run_instruction.h"

#include <cstring>

namespace tessera {

ByteMover memory_mover() {
  return {.copy = [](std::byte* to, const std::byte* from,
                     int64_t bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); },
          .clear = [](std::byte* to,
                      int64_t bytes) { std::memset(to, 0, static_cast<size_t>(bytes)); }};
}

void run_instruction(const Instruction& instruction, int channel, const BoundCall& bound,
                     InstructionRunner& runner, ThreadPool& threads) {
  if (const auto* kernel = instruction.as<KernelInstruction>())
    return cpu_kernel(kernel->op)({bound, kernel->op, kernel->attributes, threads});
  if (const std::byte* awaited = runner.run(instruction, channel, bound.operands, bound.results))
    runner.wait(awaited);
}

}  // namespace tessera
