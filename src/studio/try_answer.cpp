// SPDX-License-Identifier: Apache-2.0
// The question `try`: a run compiled and simulated, with everything that the page shows of it.
#include <map>
#include <tuple>

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

// Of a rank's transfers, as the simulator counts them.
std::map<TransferKey, TransferTimes> transfer_times(const SimulatedRank& rank,
                                                    const Program& program) {
  std::map<TransferKey, TransferTimes> sums;
  for (const ProgramClass& program_class : program.classes)
    for (const RoutineRow& row : kRoutines)
      for (const Instruction& instruction : program_class.routine(row.routine)) {
        const auto found = rank.transfers.find(&instruction);
        if (found == rank.transfers.end() || !has_peers(instruction, program)) continue;
        const auto* collective = instruction.as<CollectiveInstruction>();
        const std::string& axes =
            collective ? program.group_of(*collective).name
                       : program.mesh.axes()[static_cast<size_t>(program.pipeline_axis)].name;
        TransferTimes& sum =
            sums[{std::string(name(row.routine)), std::string(name(instruction)), axes}];
        sum.seconds += found->second.seconds;
        sum.waiting_seconds += found->second.waiting_seconds;
        sum.exposed_seconds += found->second.exposed_seconds;
      }
  return sums;
}

// In which the rank stalls for copies from and to the host, which no other rank takes part in.
double stalled_by_copies(const SimulatedRank& rank, const Program& program) {
  double seconds = 0;
  for (const auto& [instruction, times] : rank.transfers)
    if (!has_peers(*instruction, program)) seconds += times.exposed_seconds;
  return seconds;
}

// As `tessera compile` counts them, with their seconds on the cluster.
Json timed_collectives(const SimulatedRank& rank, const Program& program) {
  std::map<TransferKey, TransferTimes> times = transfer_times(rank, program);
  Json rows = Json::array();
  const Json counts = collectives_json(program);
  for (const Json& counted : counts.items()) {
    Json row = counted;
    const TransferTimes& sum =
        times[{*row.find("routine")->text(), *row.find("op")->text(), *row.find("axes")->text()}];
    row["seconds"] = sum.seconds;
    row["exposed_seconds"] = sum.exposed_seconds;
    row["waiting_seconds"] = sum.waiting_seconds;
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
  const SimulatedStep step =
      simulate_step(run.config, run.cluster, spec, {.check = false, .count_transfers = true});
  const StepTimes& times = step.simulation.times;
  Json json = to_json(step);
  json["title"] = title_of(step);
  json["command"] = "tessera simulate" + flags_of(run);
  json["warnings"] = warnings;
  json["memory_reason"] = step.fits() ? "" : memory_reason(step);
  json["device_memory_bytes"] = run.cluster.device.memory_bytes.value;
  json["stages"] = stages_json(step.compiled.programs);
  const Program& largest = largest_program(step.compiled.programs);
  const SimulatedRank& fullest =
      step.simulation.ranks[static_cast<size_t>(&largest - step.compiled.programs.data())];
  json["collectives"] = timed_collectives(fullest, largest);
  json["collectives_rank"] = fullest.rank;
  json["copies_exposed_seconds"] = stalled_by_copies(fullest, largest);
  json["parts"] = Json{{"compute_seconds", times.compute_seconds},
                       {"exposed_communication_seconds", times.exposed_communication_seconds},
                       {"bubble_seconds", times.bubble_seconds}};
  json["sources"] = to_json(count_sources(run.cluster));
  json["parameters"] = parameter_count(spec.model);
  return {std::move(json)};
}

}  // namespace tessera
