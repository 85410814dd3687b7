// SPDX-License-Identifier: Apache-2.0
#include "compiler/emit_program.h"

#include <algorithm>

#include "compiler/arena_layout.h"
#include "compiler/scripts.h"

namespace tessera {
namespace {

RoutineKind routine_of(Phase phase) {
  switch (phase) {
    case Phase::Begin:
      return RoutineKind::Begin;
    case Phase::Forward:
      return RoutineKind::Forward;
    case Phase::Evaluate:
      return RoutineKind::Evaluate;
    case Phase::InputGrad:
    case Phase::WeightGrad:
      return RoutineKind::Backward;
    case Phase::Norm:
      return RoutineKind::Norm;
    case Phase::Update:
      return RoutineKind::Update;
  }
  check_failed("phase", __FILE__, __LINE__, "");
}

Buffer buffer_of(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  Buffer buffer{.name = value.name,
                .type = value.type,
                .lifetime = value.location.lifetime,
                .repeat = Repeat::Once};
  if (const GraphInput* input = graph.input_of(id)) {
    switch (input->kind) {
      case InputKind::State:
        buffer.lifetime = Lifetime::Persistent;
        break;
      case InputKind::Stream:
        buffer.lifetime = Lifetime::Slot;
        break;
      case InputKind::Batch:
        buffer.lifetime = Lifetime::Window;
        buffer.repeat = Repeat::PerMicrobatch;
        break;
      case InputKind::Step:
      case InputKind::OutputGradient:
        buffer.lifetime = Lifetime::Window;
        break;
    }
  }
  if (buffer.lifetime == Lifetime::Slot) buffer.repeat = Repeat::PerSlot;
  return buffer;
}

Instruction instruction_of(const Graph& graph, const Node& node) {
  Instruction instruction{.op = node.op,
                          .attributes = node.attributes,
                          .operands = {node.operands.begin(), node.operands.end()},
                          .results = {node.results.begin(), node.results.end()},
                          .accumulators = {},
                          .workspace_offset = node.workspace.offset,
                          .workspace_bytes = node.workspace.bytes,
                          .dead_after = {},
                          .phase = node.phase};
  for (size_t r = 0; r < node.results.size(); ++r)
    for (const GraphOutput& output : graph.outputs())
      if (output.value == node.results[r] && output.accumulates) {
        instruction.accumulators.push_back(static_cast<int>(r));
        break;
      }
  return instruction;
}

// Marks, per routine, the scratch buffers whose last reader an instruction is. A buffer taken over
// in place dies with its successor.
void mark_dead(const Graph& graph, std::vector<Instruction>& routine) {
  const auto is_scratch = [&](int buffer) {
    return graph.value(buffer).location.lifetime == Lifetime::Scratch;
  };
  const auto same_place = [&](int a, int b) {
    return graph.value(a).location == graph.value(b).location;
  };
  for (size_t i = 0; i < routine.size(); ++i) {
    std::vector<int> touched = routine[i].operands;
    touched.insert(touched.end(), routine[i].results.begin(), routine[i].results.end());
    for (const int buffer : touched) {
      if (!is_scratch(buffer)) continue;
      bool needed = false;
      for (size_t later = i + 1; later < routine.size() && !needed; ++later)
        needed = std::find(routine[later].operands.begin(), routine[later].operands.end(),
                           buffer) != routine[later].operands.end();
      const bool replaced =
          std::any_of(routine[i].results.begin(), routine[i].results.end(), [&](int result) {
            return result != buffer && is_scratch(result) && same_place(result, buffer);
          });
      if (!needed && !replaced) routine[i].dead_after.push_back(buffer);
    }
  }
}

ProgramClass class_of(const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  ProgramClass program_class{.name = block_class.name, .buffers = {}, .routines = {}};
  for (ValueId id = 0; id < graph.num_values(); ++id)
    program_class.buffers.push_back(buffer_of(graph, id));
  for (const Node& node : graph.nodes()) {
    const RoutineKind kind = routine_of(node.phase);
    program_class.routine(kind).push_back(instruction_of(graph, node));
    if (kind == RoutineKind::Forward)
      program_class.routine(RoutineKind::Evaluate).push_back(instruction_of(graph, node));
  }
  for (auto& routine : program_class.routines) mark_dead(graph, routine);
  return program_class;
}

}  // namespace

Program emit_program(const Module& module, const EmitProgramOptions& options) {
  TESSERA_CHECK(module.form == Form::Planned);
  Program program;
  program.name = module.name;
  program.microbatches = options.microbatches;
  program.threads = options.threads;
  for (const BlockClass& block_class : module.classes)
    program.classes.push_back(class_of(block_class));
  lay_out_arenas(module, program);
  write_scripts(program);
  return program;
}

}  // namespace tessera
