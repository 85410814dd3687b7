// SPDX-License-Identifier: Apache-2.0
#include "compiler/emit_program.h"

#include <algorithm>

#include "compiler/arena_layout.h"
#include "compiler/scripts.h"

namespace tessera {
namespace {

RoutineKind routine_of(Phase phase) {
  switch (phase) {
    case Phase::Gather:
      return RoutineKind::Gather;
    case Phase::Await:
      return RoutineKind::Await;
    case Phase::Settle:
      return RoutineKind::Settle;
    case Phase::Count:
      return RoutineKind::Count;
    case Phase::Reduce:
      return RoutineKind::Reduce;
    case Phase::Report:
      return RoutineKind::Report;
    case Phase::Total:
      return RoutineKind::Total;
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

// Of a flat buffer: whole weights that are gathered for each use come and go; what rests stays.
Lifetime flat_lifetime(const BlockClass& block_class, const FlatSpec& flat) {
  if (flat.role == FlatRole::Gradient || flat.role == FlatRole::GradientShard ||
      flat.role == FlatRole::Reduced)
    return Lifetime::Window;
  if (flat.role == FlatRole::Weights && find_flat(block_class, flat.bundle, FlatRole::WeightsShard))
    return Lifetime::Window;
  return Lifetime::Persistent;
}

int64_t flat_stride(const FlatSpec& flat, const TensorType& type) {
  return flat.role == FlatRole::Reduced ? type.bytes() : 0;
}

// Where a parameter in use lies: inside its bundle's weights.
Lifetime state_lifetime(const Module& module, const BlockClass& block_class,
                        const GraphInput& input) {
  int block = 0;
  while (&module.class_of(module.blocks[static_cast<size_t>(block)]) != &block_class) ++block;
  const Owner owner = owner_of(module, block, block_class.graph.value(input.value).name);
  const BlockClass& owner_class = module.class_of(module.blocks[static_cast<size_t>(owner.block)]);
  const Bundle* bundle = find_bundle(owner_class, owner.parameter);
  return bundle ? flat_lifetime(owner_class, {.bundle = bundle->name, .role = FlatRole::Weights})
                : Lifetime::Persistent;
}

Buffer buffer_of(const Module& module, const BlockClass& block_class, ValueId id) {
  const Graph& graph = block_class.graph;
  const Value& value = graph.value(id);
  Buffer buffer{.name = value.name,
                .type = value.type,
                .lifetime = value.location.lifetime,
                .repeat = Repeat::Once};
  if (const GraphInput* input = graph.input_of(id)) {
    switch (input->kind) {
      case InputKind::State:
        buffer.lifetime = state_lifetime(module, block_class, *input);
        break;
      case InputKind::Flat:
        buffer.lifetime = flat_lifetime(block_class, *input->flat);
        buffer.rank_stride = flat_stride(*input->flat, value.type);
        break;
      case InputKind::Stream:
        buffer.lifetime = Lifetime::Slot;
        break;
      case InputKind::Batch:
        buffer.lifetime = Lifetime::Window;
        buffer.repeat = Repeat::PerMicrobatch;
        break;
      case InputKind::Step:
      case InputKind::Rank:
      case InputKind::OutputGradient:
        buffer.lifetime = Lifetime::Window;
        break;
    }
  }
  for (const GraphOutput& output : graph.outputs())
    if (output.kind == OutputKind::Flat && output.value == id) {
      const FlatSpec& flat = *graph.find_input(InputKind::Flat, output.target)->flat;
      buffer.lifetime = flat_lifetime(block_class, flat);
      buffer.rank_stride = flat_stride(flat, value.type);
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

ProgramClass class_of(const Module& module, const BlockClass& block_class) {
  const Graph& graph = block_class.graph;
  ProgramClass program_class{.name = block_class.name, .buffers = {}, .routines = {}};
  for (ValueId id = 0; id < graph.num_values(); ++id)
    program_class.buffers.push_back(buffer_of(module, block_class, id));
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
  program.mesh = module.mesh;
  program.shard_axis = options.shard_axis;
  program.zigzag = options.zigzag;
  for (const BlockClass& block_class : module.classes)
    program.classes.push_back(class_of(module, block_class));
  for (const Block& block : module.blocks)
    program.blocks.push_back({.name = block.name, .class_index = block.class_index, .offsets = {}});
  write_scripts(module, program);
  lay_out_arenas(module, program);
  return program;
}

}  // namespace tessera
