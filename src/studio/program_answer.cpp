// SPDX-License-Identifier: Apache-2.0
// The question `program`: what one class of ranks runs, by block class and routine, and the calls
// of its step.
#include "config/compile_step.h"
#include "studio/asked_run.h"
#include "studio/compiled_step.h"
#include "studio/ir_lines.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/simulated_step.h"

namespace tessera {
namespace {

constexpr int64_t kMostCallsShown = 20'000;

Json numbers_json(std::span<const int> numbers) {
  return std::vector<int>(numbers.begin(), numbers.end());
}

Json instruction_json(const Program& program, const ProgramClass& program_class,
                      RoutineKind routine, const Instruction& instruction, const IrLines& lines) {
  const int line = lines.line_of(program_class, routine, instruction);
  Json json{{"op", name(instruction)},
            {"reads", numbers_json(reads(instruction))},
            {"writes", numbers_json(writes(instruction))},
            {"phase", name(instruction.phase)},
            {"line", line}};
  add_origin(json, lines.module(), lines.lines()[static_cast<size_t>(line)]);
  if (const auto* collective = instruction.as<CollectiveInstruction>())
    json["axes"] = program.group_of(*collective).name;
  if (is_started(instruction)) json["started"] = true;
  if (!instruction.accumulators.empty()) json["accumulates"] = true;
  if (instruction.workspace_bytes > 0) json["workspace_bytes"] = instruction.workspace_bytes;
  return json;
}

Json class_json(const Program& program, const ProgramClass& program_class, const IrLines& lines) {
  Json buffers = Json::array(), routines = Json::array();
  for (const Buffer& buffer : program_class.buffers)
    buffers.push_back({{"name", buffer.name},
                       {"type", to_string(buffer.type)},
                       {"bytes", buffer.type.bytes()},
                       {"lifetime", name(buffer.lifetime)}});
  for (const RoutineRow& row : kRoutines) {
    if (program_class.routine(row.routine).empty()) continue;
    Json instructions = Json::array();
    for (const Instruction& instruction : program_class.routine(row.routine))
      instructions.push_back(
          instruction_json(program, program_class, row.routine, instruction, lines));
    routines.push_back({{"routine", row.name}, {"when", row.when}, {"instructions", instructions}});
  }
  return {{"name", program_class.name}, {"buffers", buffers}, {"routines", routines}};
}

// [routine, block, microbatch, channel], routines by their place in the list of names.
Json calls_json(const Script& script, size_t from, size_t count) {
  Json calls = Json::array();
  for (size_t i = from; i < std::min(from + count, script.calls.size()); ++i) {
    const ScriptCall& call = script.calls[i];
    calls.push_back(
        Json::array({static_cast<int>(call.routine), call.block, call.microbatch, call.channel}));
  }
  return calls;
}

Json shape_json(const Program& program) {
  Json blocks = Json::array(), groups = Json::array(), channels = Json::array(),
       routines = Json::array();
  for (const ProgramBlock& block : program.blocks)
    blocks.push_back({{"name", block.name},
                      {"class", block.class_index},
                      {"stage", block.stage},
                      {"segment", block.segment}});
  for (const Group& group : program.groups)
    groups.push_back({{"name", group.name}, {"size", group.size}});
  for (const StageChannel& channel : program.channels)
    channels.push_back({{"name", channel.name}, {"from", channel.from}, {"to", channel.to}});
  for (const RoutineRow& row : kRoutines) routines.push_back(row.name);
  return {{"blocks", blocks}, {"groups", groups}, {"channels", channels}, {"routines", routines}};
}

}  // namespace

Answer answer_program(const Question& question) {
  require_known_fields(question.fields, {"run", "pp", "from", "count"});
  const AskedRun run = asked_run(question);
  const Compiled compiled = compile(spec_to_simulate(run.cluster, run.config), {.check = false});
  const auto last = static_cast<int64_t>(compiled.programs.size()) - 1;
  const auto place = find_whole(question.fields, "pp", {0, last}).value_or(0);
  const Program& program = compiled.programs[static_cast<size_t>(place)];
  const Script& script = program.script("train_step");
  const auto all = static_cast<int64_t>(script.calls.size());
  const auto from = find_whole(question.fields, "from", {0, all}).value_or(0);
  const auto count =
      find_whole(question.fields, "count", {0, kMostCallsShown}).value_or(kMostCallsShown);
  const IrLines lines(compiled.module);
  Json json = shape_json(program);
  json["pp"] = place;
  json["programs"] = compiled.programs.size();
  json["mesh"] = to_string(program.mesh);
  json["microbatches"] = program.microbatches;
  json["bytes"] = bytes_json(program);
  json["peak_bytes"] = program.peak_bytes();
  json["arenas"] = Json{{"persistent", program.persistent_bytes},
                        {"window", program.window_bytes},
                        {"slot", program.slot_bytes},
                        {"scratch", program.scratch_bytes},
                        {"host", program.host_bytes()}};
  json["classes"] = Json::array();
  for (const ProgramClass& program_class : program.classes)
    json["classes"].push_back(class_json(program, program_class, lines));
  json["from"] = from;
  json["all_calls"] = all;
  json["calls"] = calls_json(script, static_cast<size_t>(from), static_cast<size_t>(count));
  return {std::move(json)};
}

}  // namespace tessera
