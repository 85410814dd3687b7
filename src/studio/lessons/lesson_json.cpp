// SPDX-License-Identifier: Apache-2.0
#include "studio/lessons/lesson_json.h"

#include <map>

#include "program/collective_table.h"
#include "studio/compiled_step.h"
#include "studio/step_memory.h"

namespace tessera {
namespace {

std::vector<int> indices_of(std::span<const int> numbers) {
  return {numbers.begin(), numbers.end()};
}

// How a value lies over the mesh, and by how many ranks it has travelled along a ring.
struct LessonPlacement {
  Placement placement = {};
  int hops = 0;
};

// What an op's expansion makes has no placement of its own: it lies as what it is made of.
LessonPlacement placement_of(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (!value.placement.empty() || value.producer == kNone) return {value.placement};
  const Node& node = graph.node(value.producer);
  switch (node.op) {
    case OpKind::shift: {
      LessonPlacement moved = placement_of(graph, node.operands.front());
      ++moved.hops;
      return moved;
    }
    case OpKind::wait:
    case OpKind::attention:
    case OpKind::merge_attention:
      return placement_of(graph, node.operands.front());
    case OpKind::attention_grad:  // of queries, of keys and of values
      return placement_of(graph, node.operands[id == node.results.front() ? 0 : 1]);
    case OpKind::add:
      return value.name.find(".shift") == std::string::npos
                 ? LessonPlacement{}
                 : placement_of(graph, node.operands.front());
    default:
      return {};
  }
}

std::vector<std::string> axis_names(const Mesh& mesh, const AxisIds& axes) {
  std::vector<std::string> names;
  for (const int axis : axes) names.push_back(mesh.axes()[static_cast<size_t>(axis)].name);
  return names;
}

// A flat buffer of a bundle: which axes a shard is one of, and over which the gradient of the whole
// is a sum that is still to be taken.
void add_flat(Json& json, const Module& module, const BlockClass& block_class,
              const ProgramClass& program_class, const Program& program, const Value& value) {
  const std::string bundle_name = value.name.substr(0, value.name.find('.'));
  for (const Bundle& bundle : block_class.bundles) {
    if (bundle.name != bundle_name || value.type.dims.size() != 1) continue;
    if (bundle.shards > 1 && value.type.dims.front().size * bundle.shards == bundle.elements)
      json["dims"] = Json::array({Json{{"name", value.type.dims.front().name},
                                       {"size", value.type.dims.front().size},
                                       {"whole", bundle.elements},
                                       {"axes", axis_names(module.mesh, bundle.rest)}}});
  }
  for (const Instruction& instruction : program_class.routine(RoutineKind::Reduce)) {
    const auto* collective = instruction.as<CollectiveInstruction>();
    if (!collective || !has_peers(instruction, program)) continue;
    if (program_class.buffers[static_cast<size_t>(collective->input)].name == value.name)
      json["pending"] = program.group_of(*collective).name;
  }
}

Json lesson_buffer_json(const LessonRun& run, const Program& program,
                        const ProgramClass& program_class, const Buffer& buffer) {
  const Module& module = run.compiled.module;
  const BlockClass& block_class =
      module.classes[static_cast<size_t>(module.find_class(program_class.name))];
  const Graph& graph = block_class.graph;
  const ValueId id = graph.find_value(buffer.name);
  const LessonPlacement held = id == kNone ? LessonPlacement{} : placement_of(graph, id);
  Json dims = Json::array();
  for (const Dim& dim : buffer.type.dims) {
    Json each{{"name", dim.name}, {"size", dim.size}};
    const AxisIds axes = shard_axes(held.placement, dim.name);
    if (!axes.empty()) {
      each["whole"] = dim.size * module.mesh.size(axes);
      each["axes"] = axis_names(module.mesh, axes);
      if (held.hops > 0 && dim.name == "seq") each["hops"] = held.hops;
    }
    dims.push_back(std::move(each));
  }
  Json json{{"name", buffer.name},
            {"dtype", name(buffer.type.dtype)},
            {"bytes", buffer.type.bytes()},
            {"lifetime", name(buffer.lifetime)},
            {"dims", dims}};
  const AxisIds pending = partial_axes(held.placement);
  if (!pending.empty()) json["pending"] = module.mesh.word(pending);
  if (id != kNone && held.placement.empty())
    add_flat(json, module, block_class, program_class, program, graph.value(id));
  return json;
}

Json lesson_instruction_json(const Program& program, const ProgramClass& program_class,
                             const Instruction& instruction) {
  Json json{{"op", name(instruction)},
            {"reads", indices_of(reads(instruction))},
            {"writes", indices_of(writes(instruction))}};
  if (has_peers(instruction, program)) {
    json["sent"] = sent_bytes(program, program_class, instruction);
    const auto* collective = instruction.as<CollectiveInstruction>();
    json["group"] = collective ? collective->group : -1;
    json["axes"] = collective ? program.group_of(*collective).name : "pp";
  }
  if (is_started(instruction)) json["started"] = true;
  if (!instruction.accumulators.empty()) json["adds"] = true;
  return json;
}

Json lesson_class_json(const LessonRun& run, const Program& program,
                       const ProgramClass& program_class, const StepMemory& memory) {
  std::map<RoutineKind, size_t> called;  // with a call of each
  const std::vector<ScriptCall>& calls = program.script("train_step").calls;
  for (size_t i = 0; i < calls.size(); ++i)
    if (&program.class_of(program.blocks[static_cast<size_t>(calls[i].block)]) == &program_class)
      called.try_emplace(calls[i].routine, i);
  Json routines = Json::object(), buffers = Json::array();
  for (const auto& [routine, call] : called) {
    Json instructions = Json::array(), scratch = Json::array();
    const std::vector<Instruction>& all = program_class.routine(routine);
    for (size_t i = 0; i < all.size(); ++i) {
      instructions.push_back(lesson_instruction_json(program, program_class, all[i]));
      scratch.push_back(memory.scratch_at(call, i));
    }
    routines[name(routine)] = Json{{"instructions", instructions}, {"scratch", scratch}};
  }
  for (const Buffer& buffer : program_class.buffers)
    buffers.push_back(lesson_buffer_json(run, program, program_class, buffer));
  return {{"name", program_class.name}, {"buffers", buffers}, {"routines", routines}};
}

}  // namespace

Json programs_json(const LessonRun& run) {
  Json list = Json::array();
  for (size_t place = 0; place < run.programs().size(); ++place) {
    const Program& program = run.programs()[place];
    const StepMemory memory(program);
    Json classes = Json::array(), blocks = Json::array(), calls = Json::array();
    for (const ProgramClass& program_class : program.classes)
      classes.push_back(lesson_class_json(run, program, program_class, memory));
    for (const ProgramBlock& block : program.blocks)
      blocks.push_back(
          {{"name", block.name}, {"class", block.class_index}, {"stage", block.stage}});
    const std::vector<ScriptCall>& script = program.script("train_step").calls;
    for (size_t i = 0; i < script.size(); ++i) {
      const CallTime& time = run.times[place][i];
      Json call{{"routine", name(script[i].routine)},
                {"block", script[i].block},
                {"microbatch", script[i].microbatch},
                {"begin", time.begin},
                {"end", time.end},
                {"kept", memory.kept_bytes()[i]}};
      if (script[i].channel >= 0) {
        const StageChannel& channel = program.channels[static_cast<size_t>(script[i].channel)];
        call["channel"] = Json{{"name", channel.name}, {"from", channel.from}, {"to", channel.to}};
      }
      calls.push_back(std::move(call));
    }
    list.push_back({{"place", place},
                    {"stages", blocks_text(program)},
                    {"always_bytes", program.persistent_bytes + program.window_bytes},
                    {"peak_bytes", program.peak_bytes()},
                    {"idle", run.timing.ranks[place].idle},
                    {"useful", run.timing.ranks[place].useful},
                    {"held_microbatches", run.timing.ranks[place].peak_activations},
                    {"classes", classes},
                    {"blocks", blocks},
                    {"calls", calls}});
  }
  return list;
}

Json ranks_json(const LessonRun& run) {
  const Mesh& mesh = run.programs().front().mesh;
  Json ranks = Json::array();
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const Program& program = at_place(run.programs(), rank);
    Json coordinates = Json::object(), groups = Json::array();
    for (int axis = 0; axis < mesh.num_axes(); ++axis)
      coordinates[mesh.axes()[static_cast<size_t>(axis)].name] = mesh.coordinate(rank, axis);
    for (const Group& group : program.groups) groups.push_back(members_of(group, mesh, rank));
    ranks.push_back({{"rank", rank},
                     {"program", &program - run.programs().data()},
                     {"coordinates", coordinates},
                     {"groups", groups}});
  }
  return ranks;
}

}  // namespace tessera
