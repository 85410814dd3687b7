// SPDX-License-Identifier: Apache-2.0
// The question `try`: a run compiled and simulated, with everything that the page shows of it.
#include <map>
#include <tuple>

#include "sim/instruction_times.h"
#include "studio/asked_run.h"
#include "studio/cluster_json.h"
#include "studio/compiled_step.h"
#include "studio/kinds.h"
#include "studio/memory_reason.h"
#include "studio/question_fields.h"
#include "studio/simulated_step.h"

namespace tessera {
namespace {

Json stages_json(const std::vector<Program>& programs) {
  Json stages = Json::array();
  for (size_t place = 0; place < programs.size(); ++place) {
    const Program& program = programs[place];
    stages.push_back({{"pp", place},
                      {"blocks", blocks_text(program)},
                      {"bytes", bytes_json(program)},
                      {"peak_bytes", program.peak_bytes()},
                      {"gathers", gathers_text(program)}});
  }
  return stages;
}

using TransferKey = std::tuple<std::string, std::string, std::string>;  // routine, op, axes

// Seconds of all transfers of a stage's step, hidden or not, as the simulator counts them.
std::map<TransferKey, double> transfer_seconds(const SimulatedStep& step, const Program& program) {
  std::map<std::pair<int, RoutineKind>, int64_t> calls;
  for (const ScriptCall& call : program.script("train_step").calls)
    ++calls[{program.blocks[static_cast<size_t>(call.block)].class_index, call.routine}];
  InstructionTimes times(program, step.cluster, step.options);
  std::map<TransferKey, double> seconds;
  for (const auto& [place, count] : calls) {
    const auto& [class_index, routine] = place;
    const auto& instructions = program.classes[static_cast<size_t>(class_index)].routine(routine);
    const std::vector<TimedInstruction>& timed = times.of(class_index, routine);
    for (size_t i = 0; i < instructions.size(); ++i) {
      if (!has_peers(instructions[i], program)) continue;
      const auto* collective = instructions[i].as<CollectiveInstruction>();
      const std::string& axes =
          collective ? program.group_of(*collective).name
                     : program.mesh.axes()[static_cast<size_t>(program.pipeline_axis)].name;
      seconds[{std::string(name(routine)), std::string(name(instructions[i])), axes}] +=
          static_cast<double>(count) * timed[i].seconds;
    }
  }
  return seconds;
}

// As `tessera compile` counts them, with their seconds on the cluster.
Json timed_collectives(const SimulatedStep& step, const Program& program) {
  const std::map<TransferKey, double> seconds = transfer_seconds(step, program);
  Json rows = Json::array();
  const Json counts = collectives_json(program);
  for (const Json& counted : counts.items()) {
    Json row = counted;
    row["seconds"] = seconds.at(
        {*row.find("routine")->text(), *row.find("op")->text(), *row.find("axes")->text()});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Answer answer_try(const Question& question) {
  require_known_fields(question.fields, {"run"});
  const AskedRun run = asked_run(question);
  const RunSpec spec = spec_to_simulate(run.cluster, run.config);
  std::vector<std::string> warnings = warnings_on(run.cluster, spec, run.config);
  for (std::string& note : notes_on(run.config)) warnings.push_back(std::move(note));
  // As in a search: the programs are never run, so they need no check.
  const SimulatedStep step = simulate_step(run.config, run.cluster, spec, {.check = false});
  const StepTimes& times = step.simulation.times;
  Json json = to_json(step);
  json["title"] = title_of(step);
  json["command"] = "tessera simulate" + flags_of(run);
  json["warnings"] = warnings;
  json["memory_reason"] = step.fits() ? "" : memory_reason(step);
  json["device_memory_bytes"] = run.cluster.device.memory_bytes.value;
  json["stages"] = stages_json(step.compiled.programs);
  json["collectives"] = timed_collectives(step, largest_program(step.compiled.programs));
  json["parts"] = Json{{"compute_seconds", times.compute_seconds},
                       {"exposed_communication_seconds", times.exposed_communication_seconds},
                       {"bubble_seconds", times.bubble_seconds}};
  json["sources"] = to_json(count_sources(run.cluster));
  json["parameters"] = parameter_count(spec.model);
  return {std::move(json)};
}

}  // namespace tessera
