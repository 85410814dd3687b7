// SPDX-License-Identifier: Apache-2.0
#include "break_program.h"

#include <algorithm>

namespace tessera {
namespace {

ProgramClass& class_named(Program& program, std::string_view class_name) {
  for (ProgramClass& program_class : program.classes)
    if (program_class.name == class_name) return program_class;
  throw NothingToBreak(fmt::format("no class {}", class_name));
}

}  // namespace

std::vector<Instruction>& routine_of(Program& program, std::string_view class_name,
                                     RoutineKind routine) {
  return class_named(program, class_name).routine(routine);
}

Instruction& find_op(Program& program, std::string_view class_name, RoutineKind routine, OpKind op,
                     int n) {
  for (Instruction& instruction : routine_of(program, class_name, routine))
    if (instruction.op == op && n-- == 0) return instruction;
  throw NothingToBreak(fmt::format("no {} in {}.{}", name(op), class_name, name(routine)));
}

Instruction& find_op_on(Program& program, std::string_view class_name, RoutineKind routine,
                        OpKind op, std::string_view operand) {
  const ProgramClass& here = class_named(program, class_name);
  for (Instruction& instruction : routine_of(program, class_name, routine))
    if (instruction.op == op &&
        here.buffers[static_cast<size_t>(instruction.operands.front())].name == operand)
      return instruction;
  throw NothingToBreak(
      fmt::format("no {} of {} in {}.{}", name(op), operand, class_name, name(routine)));
}

void leave_out(Instruction& collective) { collective.attributes.set("ranks", int64_t{1}); }

void remove(Program& program, std::string_view class_name, RoutineKind routine, OpKind op) {
  if (std::erase_if(routine_of(program, class_name, routine),
                    [&](const Instruction& instruction) { return instruction.op == op; }) == 0)
    throw NothingToBreak(fmt::format("no {} in {}.{}", name(op), class_name, name(routine)));
}

int buffer_of(const Program& program, std::string_view class_name, std::string_view buffer) {
  for (const ProgramClass& program_class : program.classes)
    for (size_t i = 0; program_class.name == class_name && i < program_class.buffers.size(); ++i)
      if (program_class.buffers[i].name == buffer) return static_cast<int>(i);
  throw NothingToBreak(fmt::format("no buffer {} in {}", buffer, class_name));
}

int add_rank_value(Program& program, std::string_view class_name, const AxisIds& axes) {
  ProgramClass& here = class_named(program, class_name);
  const int64_t offset = program.window_bytes;
  program.window_bytes += kBufferAlignment;
  program.rank_values.push_back({.axes = axes, .offset = offset});
  here.buffers.push_back(
      {.name = "other_rank", .type = scalar(DType::Int32), .lifetime = Lifetime::Window});
  for (ProgramBlock& block : program.blocks)
    if (&program.class_of(block) == &here) {
      block.offsets.push_back(offset);
      block.repeats.push_back(Repeat::Once);
    }
  return static_cast<int>(here.buffers.size()) - 1;
}

std::vector<ScriptCall>& calls_of(Program& program) {
  for (Script& script : program.scripts)
    if (script.name == "train_step") return script.calls;
  throw NothingToBreak("no train_step");
}

std::vector<ScriptCall*> find_calls(Program& program, RoutineKind routine, int microbatch) {
  std::vector<ScriptCall*> found;
  for (ScriptCall& call : calls_of(program))
    if (call.routine == routine && call.microbatch == microbatch) found.push_back(&call);
  if (found.empty())
    throw NothingToBreak(fmt::format("no call of {} for microbatch {}", name(routine), microbatch));
  return found;
}

}  // namespace tessera
