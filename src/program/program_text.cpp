// SPDX-License-Identifier: Apache-2.0
// The program as text, for `tessera compile` and golden tests.
#include "program/program.h"

namespace tessera {
namespace {

std::string print_buffer(const Buffer& buffer) {
  return fmt::format("{}:{}{}", buffer.name, buffer.space == MemorySpace::Host ? "host " : "",
                     name(buffer.lifetime));
}

std::string print_instruction(const ProgramClass& program_class, const Instruction& instruction) {
  const auto list = [&](std::span<const int> buffers) {
    std::string names;
    for (const int buffer : buffers)
      names += (names.empty() ? " " : ", ") +
               print_buffer(program_class.buffers[static_cast<size_t>(buffer)]);
    return names;
  };
  std::string text = fmt::format("    {}{} ->{}", name(instruction), list(reads(instruction)),
                                 list(writes(instruction)));
  if (!instruction.accumulators.empty()) text += " (accumulates)";
  if (instruction.workspace_bytes)
    text += fmt::format(" workspace {}", instruction.workspace_bytes);
  return text + "\n";
}

}  // namespace

std::string print(const Program& program) {
  std::string text = fmt::format("program {}: {} microbatches, {} bytes\n", program.name,
                                 program.microbatches, program.peak_bytes());
  for (const ProgramClass& program_class : program.classes)
    for (int kind = 0; kind < kNumRoutineKinds; ++kind) {
      const auto& routine = program_class.routines[static_cast<size_t>(kind)];
      if (routine.empty()) continue;
      text += fmt::format("  routine {}.{}\n", program_class.name,
                          name(static_cast<RoutineKind>(kind)));
      for (const Instruction& instruction : routine)
        text += print_instruction(program_class, instruction);
    }
  for (const Script& script : program.scripts) {
    text += fmt::format("  script {}\n", script.name);
    for (const ScriptCall& call : script.calls)
      text += fmt::format("    {} {} microbatch {}{}{}\n", name(call.routine),
                          program.blocks[static_cast<size_t>(call.block)].name, call.microbatch,
                          call.first ? " first" : "", call.last ? " last" : "");
  }
  return text;
}

}  // namespace tessera
