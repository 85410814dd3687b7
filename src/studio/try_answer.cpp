// SPDX-License-Identifier: Apache-2.0
// The question `try`: a run compiled and simulated, with everything that the page shows of it.
#include "studio/asked_run.h"
#include "studio/cluster_json.h"
#include "studio/compiled_step.h"
#include "studio/kinds.h"
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
  json["device_memory_bytes"] = run.cluster.device.memory_bytes.value;
  json["stages"] = stages_json(step.compiled.programs);
  json["collectives"] = collectives_json(largest_program(step.compiled.programs));
  json["parts"] = Json{{"compute_seconds", times.compute_seconds},
                       {"exposed_communication_seconds", times.exposed_communication_seconds},
                       {"bubble_seconds", times.bubble_seconds}};
  json["sources"] = to_json(count_sources(run.cluster));
  json["parameters"] = parameter_count(spec.model);
  return {std::move(json)};
}

}  // namespace tessera
