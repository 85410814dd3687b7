// SPDX-License-Identifier: Apache-2.0
#include "sim/instruction_times.h"

#include <algorithm>

#include "ir/op_list.h"
#include "program/buffer_types.h"

namespace tessera {
namespace {

bool spans(const Mesh& mesh, const AxisIds& axes, std::string_view axis) {
  return std::any_of(axes.begin(), axes.end(), [&](int id) {
    return mesh.axes()[static_cast<size_t>(id)].name == axis && mesh.size(id) > 1;
  });
}

}  // namespace

InstructionTimes::InstructionTimes(const Program& program, const Cluster& cluster,
                                   const SimulateOptions& options)
    : program_(program),
      cluster_(cluster),
      kernels_(cluster, {.threads = program.threads, .ranks = program.mesh.num_ranks()}),
      times_(program.classes.size()) {
  if (options.unit_cost) use_unit_cost(program.script(options.script), *options.unit_cost);
}

const std::vector<TimedInstruction>& InstructionTimes::of(int class_index, RoutineKind routine) {
  const ProgramClass& program_class = program_.classes[static_cast<size_t>(class_index)];
  const std::vector<Instruction>& instructions = program_class.routine(routine);
  auto& times = times_[static_cast<size_t>(class_index)][static_cast<size_t>(routine)];
  if (times.size() < instructions.size())
    for (const Instruction& instruction : instructions)
      times.push_back(timed(program_class, instruction));
  return times;
}

TimedInstruction InstructionTimes::timed(const ProgramClass& program_class,
                                         const Instruction& instruction) {
  using Kind = TimedInstruction::Kind;
  const std::vector<TensorType> operands = types_of(program_class, instruction.operands);
  const std::vector<TensorType> results = types_of(program_class, instruction.results);
  if (instruction.op == OpKind::wait) return {.kind = Kind::Wait, .bytes = bytes_of(results)};
  const OpDef& def = op_def(instruction.op);
  if (def.communicates && instruction.attributes.integer("ranks") > 1) {
    return timed_collective(instruction, bytes_of(operands),
                            std::max(bytes_of(operands), bytes_of(results)));
  }
  const OpCall call{instruction.op, instruction.attributes, operands, results};
  return {.kind = Kind::Kernel,
          .seconds = kernels_.seconds(call),
          .bytes = bytes_of(operands) + bytes_of(results)};
}

// As slow as the slowest of the mesh's groups: the step waits for it in the end.
TimedInstruction InstructionTimes::timed_collective(const Instruction& instruction,
                                                    int64_t given_bytes, int64_t largest_bytes) {
  const std::string& word = instruction.attributes.word("axes");
  const AxisIds axes = program_.mesh.parse_word(word);
  auto found = shapes_.find(word);
  if (found == shapes_.end())
    found = shapes_.emplace(word, group_shapes(cluster_, program_.mesh, axes)).first;
  // From one stage to the next is one hop of a ring.
  const bool hop = instruction.op == OpKind::send || instruction.op == OpKind::recv;
  const OpKind op = hop ? OpKind::shift : instruction.op;
  TimedInstruction timed{.kind = TimedInstruction::Kind::Collective,
                         .async = instruction.attributes.integer("async") != 0,
                         .crosses = spans(program_.mesh, axes, "pp"),
                         .bytes = given_bytes};
  for (const GroupShape& shape : found->second) {
    timed.seconds = std::max(
        timed.seconds, collective_seconds(cluster_, op, shape, static_cast<double>(largest_bytes)));
    timed.level = std::max(timed.level, shape.size() - 1);
  }
  return timed;
}

// Each phase's cost, spread evenly over its kernels of one microbatch.
void InstructionTimes::use_unit_cost(const Script& script, const UnitCost& cost) {
  for (int c = 0; c < static_cast<int>(times_.size()); ++c)
    for (int r = 0; r < kNumRoutineKinds; ++r) of(c, static_cast<RoutineKind>(r));
  const auto for_each_kernel = [&](auto&& visit) {
    for (size_t c = 0; c < times_.size(); ++c)
      for (const RoutineKind routine : {RoutineKind::Forward, RoutineKind::Backward,
                                        RoutineKind::InputGrad, RoutineKind::WeightGrad})
        for (size_t i = 0; i < program_.classes[c].routine(routine).size(); ++i) {
          TimedInstruction& timed = times_[c][static_cast<size_t>(routine)][i];
          if (timed.kind == TimedInstruction::Kind::Kernel)
            visit(c, routine, program_.classes[c].routine(routine)[i].phase, timed);
        }
  };
  std::map<std::pair<size_t, RoutineKind>, int> calls;  // of one microbatch
  for (const ScriptCall& call : script.calls)
    if (call.microbatch == 0)
      ++calls[{static_cast<size_t>(program_.blocks[static_cast<size_t>(call.block)].class_index),
               call.routine}];
  std::map<Phase, double> kernels;
  for_each_kernel([&](size_t c, RoutineKind routine, Phase phase, const TimedInstruction&) {
    kernels[phase] += calls[{c, routine}];
  });
  for (auto& routines : times_)
    for (auto& routine : routines)
      for (TimedInstruction& timed : routine) timed.seconds = 0;
  for_each_kernel([&](size_t, RoutineKind, Phase phase, TimedInstruction& timed) {
    const double whole = phase == Phase::Forward      ? cost.forward
                         : phase == Phase::InputGrad  ? cost.input_grad
                         : phase == Phase::WeightGrad ? cost.weight_grad
                                                      : 0;
    if (kernels[phase] > 0) timed.seconds = whole / kernels[phase];
  });
}

}  // namespace tessera
