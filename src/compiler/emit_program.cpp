// SPDX-License-Identifier: Apache-2.0
#include "compiler/emit_program.h"

#include <algorithm>
#include <cmath>

#include "compiler/arena_layout.h"
#include "compiler/scripts.h"
#include "compiler/translate_node.h"
#include "ir/emit.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

// Of a flat buffer: whole weights that are gathered for each use come and go; what rests stays.
Lifetime flat_lifetime(const BlockClass& block_class, const FlatSpec& flat) {
  if (flat.staged) return Lifetime::Window;
  if (flat.role == FlatRole::Gradient || flat.role == FlatRole::GradientShard ||
      flat.role == FlatRole::Reduced || flat.role == FlatRole::Load)
    return Lifetime::Window;
  if (flat.role == FlatRole::Weights && find_flat(block_class, flat.bundle, FlatRole::WeightsShard))
    return Lifetime::Window;
  return Lifetime::Persistent;
}

// A part of the reduced gradient lies where it belongs in the whole one.
void set_rank_stride(const BlockClass& block_class, const FlatSpec& flat, Buffer& buffer) {
  if (flat.role != FlatRole::Reduced) return;
  buffer.rank_stride = buffer.type.bytes();
  for (const Bundle& bundle : block_class.bundles)
    if (bundle.name == flat.bundle) buffer.rank_axes = bundle.rest;
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
                .space = value.space};
  if (buffer.lifetime == Lifetime::Prepared) buffer.lifetime = Lifetime::Window;
  if (buffer.lifetime == Lifetime::Away) buffer.lifetime = Lifetime::Slot;
  if (const GraphInput* input = graph.input_of(id)) {
    switch (input->kind) {
      case InputKind::State:
        buffer.lifetime = state_lifetime(module, block_class, *input);
        break;
      case InputKind::Flat:
        buffer.lifetime = flat_lifetime(block_class, *input->flat);
        set_rank_stride(block_class, *input->flat, buffer);
        break;
      case InputKind::Stream:
        buffer.lifetime = Lifetime::Slot;
        break;
      case InputKind::Batch:
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
      set_rank_stride(block_class, flat, buffer);
    }
  return buffer;
}

Instruction instruction_of(const Graph& graph, const Node& node, std::span<const Group> groups) {
  Instruction instruction = translate_node(node, types_of(graph, node.operands), groups);
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
    return graph.value(a).location == graph.value(b).location &&
           graph.value(a).space == graph.value(b).space;
  };
  for (size_t i = 0; i < routine.size(); ++i) {
    const std::span<const int> read = reads(routine[i]), written = writes(routine[i]);
    std::vector<int> touched(read.begin(), read.end());
    touched.insert(touched.end(), written.begin(), written.end());
    for (const int buffer : touched) {
      if (!is_scratch(buffer)) continue;
      bool needed = false;
      for (size_t later = i + 1; later < routine.size() && !needed; ++later)
        needed = std::ranges::count(reads(routine[later]), buffer) > 0;
      const bool replaced = std::ranges::any_of(written, [&](int result) {
        return result != buffer && is_scratch(result) && same_place(result, buffer);
      });
      if (!needed && !replaced) routine[i].dead_after.push_back(buffer);
    }
  }
}

// What a class that begins or ends a stage takes and gives.
void add_transfers(const Graph& graph, ProgramClass& program_class) {
  const auto add = [&](auto transfer, RoutineKind start, RoutineKind done) {
    program_class.routine(start).push_back({.what = transfer});
    program_class.routine(done).push_back(
        {.what = WaitInstruction{.held = {transfer.buffer}, .output = transfer.buffer}});
  };
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind == InputKind::Stream)
      add(ReceiveInstruction{input.value}, RoutineKind::StreamIn, RoutineKind::StreamInDone);
    if (input.kind == InputKind::OutputGradient)
      add(ReceiveInstruction{input.value}, RoutineKind::GradientIn, RoutineKind::GradientInDone);
  }
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind == OutputKind::Stream)
      add(SendInstruction{output.value}, RoutineKind::StreamOut, RoutineKind::StreamOutDone);
    if (output.kind == OutputKind::InputGradient)
      add(SendInstruction{output.value}, RoutineKind::GradientOut, RoutineKind::GradientOutDone);
  }
}

// Totals run between steps' actions, not in them.
bool has_work(const BlockClass& block_class) {
  const auto& nodes = block_class.graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node& node) { return side(node.phase) != StepSide::Neither; });
}

// By node: of the forward, whether the backward reads a result or something made from one. The
// stream counts where the next block is rebuilt from it.
std::vector<bool> leads_to_backward(const Graph& graph, bool with_stream) {
  std::vector<bool> read(static_cast<size_t>(graph.num_values()));
  std::vector<bool> needed(static_cast<size_t>(graph.num_nodes()));
  if (const GraphOutput* stream = graph.find_output(OutputKind::Stream))
    read[static_cast<size_t>(stream->value)] = with_stream;
  for (NodeId id = graph.num_nodes() - 1; id >= 0; --id) {
    const Node& node = graph.node(id);
    needed[static_cast<size_t>(id)] = side(node.phase) == StepSide::Backward ||
                                      std::ranges::any_of(node.results, [&](ValueId result) {
                                        return read[static_cast<size_t>(result)];
                                      });
    if (needed[static_cast<size_t>(id)])
      for (const ValueId operand : node.operands) read[static_cast<size_t>(operand)] = true;
  }
  return needed;
}

ProgramClass class_of(const Module& module, const BlockClass& block_class, const Program& program,
                      bool rebuilt_alone) {
  const Graph& graph = block_class.graph;
  const std::vector<bool> needed = leads_to_backward(graph, !rebuilt_alone);
  ProgramClass program_class{.name = block_class.name, .buffers = {}, .routines = {}};
  for (ValueId id = 0; id < graph.num_values(); ++id)
    program_class.buffers.push_back(buffer_of(module, block_class, id));
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    const RoutineKind kind = routine_of(node.phase, module.split_backward);
    const Instruction instruction = instruction_of(graph, node, program.groups);
    program_class.routine(kind).push_back(instruction);
    if (kind != RoutineKind::Forward) continue;
    program_class.routine(RoutineKind::Evaluate).push_back(instruction);
    // What is counted over the step is counted once.
    if (program.recomputes && instruction.accumulators.empty() && needed[static_cast<size_t>(id)])
      program_class.routine(RoutineKind::Recompute).push_back(instruction);
  }
  for (auto& routine : program_class.routines) mark_dead(graph, routine);
  if (module.stages > 1) add_transfers(graph, program_class);
  return program_class;
}

// What one rank has of a module: the blocks of its stages, and their classes.
Module part_of(const Module& module, const Schedule& schedule, int rank) {
  Module part = module;
  part.classes.clear();
  std::vector<int> renumbered(module.classes.size(), kNone);
  std::erase_if(part.blocks, [&](const Block& block) {
    return block.stage != kEveryStage &&
           schedule.rank_of_stage[static_cast<size_t>(block.stage)] != rank;
  });
  for (Block& block : part.blocks) {
    int& number = renumbered[static_cast<size_t>(block.class_index)];
    if (number == kNone) {
      number = static_cast<int>(part.classes.size());
      part.classes.push_back(module.class_of(block));
    }
    block.class_index = number;
  }
  return part;
}

// The stages of this rank. Channels are numbered by edge, so that all ranks make them in one order.
Stages stages_of(const Module& part, const Schedule& schedule, int rank, Program& program) {
  Stages stages;
  for (int block = 0; block < static_cast<int>(part.blocks.size()); ++block) {
    const int stage = part.blocks[static_cast<size_t>(block)].stage;
    if (stage == kEveryStage) continue;
    const auto [at, fresh] = stages.edges.try_emplace(stage);
    if (fresh) at->second.first_block = block;
    if (has_work(part.class_of(part.blocks[static_cast<size_t>(block)])))
      at->second.last_block = block;
  }
  const auto rank_of = [&](int stage) {
    return schedule.rank_of_stage[static_cast<size_t>(stage)];
  };
  const auto add = [&](std::string_view what, int from, int to) {
    program.channels.push_back({.name = fmt::format("{} {}>{}", what, from, to),
                                .from = rank_of(from),
                                .to = rank_of(to)});
    return static_cast<int>(program.channels.size()) - 1;
  };
  for (int from = 0; from + 1 < part.stages; ++from) {
    const int to = from + 1;
    if (rank_of(from) != rank && rank_of(to) != rank) continue;
    const int stream = add("stream", from, to), gradient = add("gradient", to, from);
    const bool local = rank_of(from) == rank_of(to);
    if (rank_of(from) == rank) {
      stages.edges.at(from).stream_out = stream;
      stages.edges.at(from).gradient_in = gradient;
      stages.edges.at(from).gradient_in_is_local = local;
    }
    if (rank_of(to) == rank) {
      stages.edges.at(to).stream_in = stream;
      stages.edges.at(to).gradient_out = gradient;
      stages.edges.at(to).stream_in_is_local = local;
    }
  }
  return stages;
}

// A stage is one segment, or one for every `recompute.every` of its blocks.
void number_segments(const Stages& stages, const Recompute& recompute, Program& program) {
  int segment = 0;
  for (const auto& [number, stage] : stages.edges) {
    const int blocks = stage.last_block - stage.first_block + 1;
    int every = blocks;
    if (program.recomputes)
      every =
          recompute.every > 0 ? recompute.every : static_cast<int>(std::lround(std::sqrt(blocks)));
    for (int i = 0; i < blocks; ++i)
      program.blocks[static_cast<size_t>(stage.first_block + i)].segment = segment + i / every;
    segment += (blocks + every - 1) / every;
    // Totals, after the last block, keep nothing.
    for (size_t block = static_cast<size_t>(stage.last_block) + 1;
         block < program.blocks.size() && program.blocks[block].stage == number; ++block)
      program.blocks[block].segment = segment - 1;
  }
}

}  // namespace

Program emit_program(const Module& whole, const Schedule& schedule,
                     const ScheduleMessages& messages, int rank,
                     const EmitProgramOptions& options) {
  TESSERA_CHECK(whole.form == Form::Planned);
  const Module module = part_of(whole, schedule, rank);
  Program program;
  program.name = module.name;
  program.microbatches = schedule.microbatches;
  program.threads = options.threads;
  program.mesh = module.mesh;
  program.pipeline_axis = options.pipeline_axis;
  program.zigzag = options.zigzag;
  program.recomputes = options.recompute.kind == RecomputeKind::Blocks;
  for (const BlockClass& block_class : module.classes)
    add_groups(block_class.graph, module.mesh, program.groups);
  for (const BlockClass& block_class : module.classes)
    program.classes.push_back(class_of(module, block_class, program, options.recompute.every == 1));
  for (const Block& block : module.blocks)
    program.blocks.push_back({.name = block.name,
                              .class_index = block.class_index,
                              .stage = block.stage,
                              .offsets = {},
                              .repeats = {}});
  Stages stages = stages_of(module, schedule, rank, program);
  stages.hold_runs = program.holds_runs = options.hold_runs;
  number_segments(stages, options.recompute, program);
  write_scripts(module, program, stages, schedule.actions[static_cast<size_t>(rank)], messages);
  lay_out_arenas(module, program);
  return program;
}

}  // namespace tessera
