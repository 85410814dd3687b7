// SPDX-License-Identifier: Apache-2.0
#include "studio/lessons/break_program.h"

#include <algorithm>

#include "ir/op_list.h"

namespace tessera {
namespace {

ProgramClass& class_named(Program& program, std::string_view class_name) {
  for (ProgramClass& program_class : program.classes)
    if (program_class.name == class_name) return program_class;
  throw NothingToBreak(fmt::format("no class {}", class_name));
}

// Where the n-th collective of an op stands in a routine.
size_t place_of_collective(Program& program, std::string_view class_name, RoutineKind routine,
                           CollectiveOp op, int n) {
  const std::vector<Instruction>& instructions = routine_of(program, class_name, routine);
  for (size_t i = 0; i < instructions.size(); ++i)
    if (const auto* collective = instructions[i].as<CollectiveInstruction>();
        collective && collective->op == op && n-- == 0)
      return i;
  throw NothingToBreak(fmt::format("no {} in {}.{}", name(op), class_name, name(routine)));
}

// What a rank does alone where a collective changes the size: its shard is put at the place of
// every other rank's, or its own share is taken out of what the ranks would have summed.
KernelInstruction do_alone(Program& program, std::string_view class_name,
                           const CollectiveInstruction& collective) {
  const bool gathers = collective.op == CollectiveOp::AllGather;
  const Group group = program.group_of(collective);
  const std::string dim = gathers ? type_of(program, class_name, collective.output)
                                        .dims[static_cast<size_t>(collective.join)]
                                        .name
                                  : type_of(program, class_name, collective.input)
                                        .dims[static_cast<size_t>(collective.split)]
                                        .name;
  const int index = add_rank_value(program, class_name, group.axes);
  if (!gathers)
    return {.op = OpKind::take_shard,
            .attributes = {{"ranks", int64_t{group.size}}, {"dim", dim}},
            .operands = {collective.input, index},
            .results = {collective.output}};
  KernelInstruction join{.op = OpKind::join_pieces,
                         .attributes = {{"dim", dim}},
                         .operands = {index},
                         .results = {collective.output}};
  join.operands.insert(join.operands.end(), static_cast<size_t>(group.size), collective.input);
  return join;
}

// The collective at `place` gets a group of one, which copies its input. Where output and input
// differ in size, a kernel does the rank's part before, and the collective is left for its wait.
void leave_out_at(Program& program, std::string_view class_name, RoutineKind routine,
                  size_t place) {
  std::vector<Instruction>& instructions = routine_of(program, class_name, routine);
  auto& collective = *instructions[place].as<CollectiveInstruction>();
  const int64_t input_bytes = type_of(program, class_name, collective.input).bytes();
  const bool same_size = type_of(program, class_name, collective.output).bytes() == input_bytes;
  Instruction alone{.what = CopyInstruction{}, .phase = instructions[place].phase};
  if (!same_size) {
    alone.what = do_alone(program, class_name, collective);
    collective = {
        .async = collective.async, .input = collective.output, .output = collective.output};
  }
  collective.group = group_over(program, {});
  if (!same_size)
    instructions.insert(instructions.begin() + static_cast<std::ptrdiff_t>(place), alone);
}

}  // namespace

std::vector<Instruction>& routine_of(Program& program, std::string_view class_name,
                                     RoutineKind routine) {
  return class_named(program, class_name).routine(routine);
}

KernelInstruction& find_kernel(Program& program, std::string_view class_name, RoutineKind routine,
                               OpKind op, int n) {
  for (Instruction& instruction : routine_of(program, class_name, routine))
    if (auto* kernel = instruction.as<KernelInstruction>(); kernel && kernel->op == op && n-- == 0)
      return *kernel;
  throw NothingToBreak(fmt::format("no {} in {}.{}", name(op), class_name, name(routine)));
}

CollectiveInstruction& find_collective(Program& program, std::string_view class_name,
                                       RoutineKind routine, CollectiveOp op, int n) {
  std::vector<Instruction>& instructions = routine_of(program, class_name, routine);
  return *instructions[place_of_collective(program, class_name, routine, op, n)]
              .as<CollectiveInstruction>();
}

int count_collectives(Program& program, std::string_view class_name, RoutineKind routine,
                      CollectiveOp op) {
  return static_cast<int>(std::ranges::count_if(
      routine_of(program, class_name, routine), [&](const Instruction& instruction) {
        const auto* collective = instruction.as<CollectiveInstruction>();
        return collective && collective->op == op;
      }));
}

GroupId group_over(Program& program, const AxisIds& axes) {
  const Group wanted = make_group(program.mesh, axes);
  const auto found = std::ranges::find(program.groups, wanted);
  const auto number = static_cast<GroupId>(found - program.groups.begin());
  if (found == program.groups.end()) program.groups.push_back(wanted);
  return number;
}

void leave_out(Program& program, std::string_view class_name, RoutineKind routine, CollectiveOp op,
               int n) {
  leave_out_at(program, class_name, routine,
               place_of_collective(program, class_name, routine, op, n));
}

void leave_out_on(Program& program, std::string_view class_name, RoutineKind routine,
                  CollectiveOp op, std::string_view input) {
  const ProgramClass& here = class_named(program, class_name);
  for (int n = 0; n < count_collectives(program, class_name, routine, op); ++n) {
    const int found = find_collective(program, class_name, routine, op, n).input;
    if (here.buffers[static_cast<size_t>(found)].name == input)
      return leave_out(program, class_name, routine, op, n);
  }
  throw NothingToBreak(
      fmt::format("no {} of {} in {}.{}", name(op), input, class_name, name(routine)));
}

void remove(Program& program, std::string_view class_name, RoutineKind routine,
            std::string_view instruction_name) {
  if (std::erase_if(routine_of(program, class_name, routine), [&](const Instruction& instruction) {
        return name(instruction) == instruction_name;
      }) == 0)
    throw NothingToBreak(
        fmt::format("no {} in {}.{}", instruction_name, class_name, name(routine)));
}

const TensorType& type_of(const Program& program, std::string_view class_name, int buffer) {
  for (const ProgramClass& program_class : program.classes)
    if (program_class.name == class_name)
      return program_class.buffers[static_cast<size_t>(buffer)].type;
  throw NothingToBreak(fmt::format("no class {}", class_name));
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

void set_flags(Program& p, RoutineKind routine, int microbatch, bool value) {
  size_t flags = 0;
  for (ScriptCall* call : find_calls(p, routine, microbatch))
    for (size_t i = 0; i < call->accumulate.size(); ++i, ++flags) call->accumulate[i] = value;
  if (flags == 0) throw NothingToBreak("no flag");
}

void drop_calls(Program& p, RoutineKind routine, int microbatch) {
  if (std::erase_if(calls_of(p), [&](const ScriptCall& call) {
        return call.routine == routine && call.microbatch == microbatch;
      }) == 0)
    throw NothingToBreak(std::string(name(routine)));
}

void move_after(Program& p, RoutineKind routine, int microbatch, RoutineKind other,
                int other_microbatch) {
  std::vector<ScriptCall>& calls = calls_of(p);
  const auto find = [&](RoutineKind wanted, int number) {
    const auto found = std::find_if(calls.begin(), calls.end(), [&](const ScriptCall& call) {
      return call.routine == wanted && call.microbatch == number;
    });
    if (found == calls.end()) throw NothingToBreak(std::string(name(wanted)));
    return found;
  };
  const auto from = find(routine, microbatch), to = find(other, other_microbatch);
  if (from > to) throw NothingToBreak("it stands after it already");
  std::rotate(from, from + 1, to + 1);
}

void change_scale(Program& p, std::string_view class_name, bool (*such)(double), double scale) {
  for (Instruction& i : routine_of(p, class_name, RoutineKind::Norm)) {
    auto* kernel = i.as<KernelInstruction>();
    if (!kernel || !such(kernel->attributes.real("scale"))) continue;
    return kernel->attributes.set("scale", scale);
  }
  throw NothingToBreak("scale");
}

}  // namespace tessera
