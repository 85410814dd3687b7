// SPDX-License-Identifier: Apache-2.0
#include "record/run_facts.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "config/model_of_config.h"
#include "program/program_work.h"
#include "schedule/schedule_timing.h"

namespace tessera {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FlopsPerToken, causal, full)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankFacts, rank, alike, peak_bytes, compute_seconds,
                                                exposed_communication_seconds, bubble_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RunFacts, source, model, parameters, device,
                                                device_unit, device_count, nodes, interconnect,
                                                ranks_as, node_memory_bytes, device_memory_bytes,
                                                mesh, ranks, threads_per_rank, tokens_per_step,
                                                flops_per_token, hardware_flops, recompute_flops,
                                                matmul_side, stages, schedule_bubble, rank_classes)

namespace {

// A forward, an input gradient and a weight gradient cost the same; blocks that are rebuilt run
// their forward again before their gradients.
double bubble_of(const Compiled& compiled) {
  const bool again = compiled.programs.front().recomputes;
  const StageCosts costs{.forward = 1, .input_grad = again ? 2.0 : 1.0, .weight_grad = 1};
  return time_schedule(compiled.schedule, costs).bubble_of_total;
}

}  // namespace

RunFacts facts_of(const Config& config, const ModelConfig& model, const Compiled& compiled) {
  const std::vector<Program>& programs = compiled.programs;
  const Mesh& mesh = programs.front().mesh;
  const ProgramWork work = work_of(programs, "train_step");
  RunFacts facts{.model = preset_name(config),
                 .parameters = parameter_count(model),
                 .mesh = to_string(mesh),
                 .ranks = mesh.num_ranks(),
                 .threads_per_rank = programs.front().threads,
                 .tokens_per_step = tokens_per_step(config, model),
                 .flops_per_token = flops_per_token(model, config.train.seq),
                 .hardware_flops = work.flops,
                 .recompute_flops = work.recompute_flops,
                 .matmul_side = work.matmul_side,
                 .stages = compiled.schedule.num_stages(),
                 .schedule_bubble = bubble_of(compiled)};
  const int alike = facts.ranks / static_cast<int>(programs.size());
  for (size_t place = 0; place < programs.size(); ++place) {
    int rank = 0;
    while (&at_place(programs, rank) != &programs[place]) ++rank;
    facts.rank_classes.push_back(
        {.rank = rank, .alike = alike, .peak_bytes = programs[place].peak_bytes()});
  }
  return facts;
}

std::string cpu_model_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

int cores_online() { return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))); }

double installed_memory_bytes() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<double>(pages) * static_cast<double>(page_bytes)
                                     : 0;
}

std::string to_json_text(const RunFacts& facts) { return nlohmann::json(facts).dump(); }

std::optional<RunFacts> parse_facts(std::string_view text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return {};
  try {
    return json.get<RunFacts>();
  } catch (const nlohmann::json::exception&) {
    return {};  // a key of another kind: not written by us
  }
}

}  // namespace tessera
