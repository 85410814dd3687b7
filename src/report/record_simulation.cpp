// SPDX-License-Identifier: Apache-2.0
#include "report/record_simulation.h"

#include <algorithm>
#include <fstream>

#include "config/run_spec.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "measure/utilisation.h"
#include "models/model_size.h"
#include "record/run_recorder.h"
#include "sim/kernel_cost.h"

namespace tessera {
namespace {

// The links that a mesh of `ranks` ranks crosses, innermost first.
std::string links_of(const Cluster& cluster, int ranks) {
  if (ranks == 1) return "none: one rank";
  std::string text;
  for (const Level& level : cluster.levels) {
    text +=
        fmt::format("{}{} {:.3g} GB/s", text.empty() ? "" : ", ", level.name, level.rate() / 1e9);
    if (level.ranks >= ranks) break;
  }
  return text + " per rank, one way";
}

double total_peak(const RunFacts& facts, const Cluster& cluster, Precision precision) {
  return KernelCost(cluster, {facts.threads_per_rank, facts.ranks})
      .total_peak(matmul_arithmetic(precision));
}

bool holds_trained_run(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "metrics.jsonl")) return false;
  std::ifstream events(folder / "events.jsonl");
  std::string first;
  std::getline(events, first);
  return first.find(R"("source":"simulate")") == std::string::npos;
}

}  // namespace

RunFacts simulated_facts(const Config& config, const RunSpec& spec, const Compiled& compiled,
                         const Cluster& cluster, const Simulation& simulation) {
  RunFacts facts = facts_of(config, spec, compiled);
  const bool shared = cluster.device.cores > 0;
  facts.source = "simulate";
  facts.device = cluster.device.name;
  facts.device_unit = shared ? "cores" : "devices";
  facts.device_count =
      shared ? std::min(cluster.device.cores, facts.ranks * facts.threads_per_rank) : facts.ranks;
  const int in_node = cluster.levels.front().ranks;
  facts.nodes = shared ? 1 : (facts.ranks + in_node - 1) / in_node;
  facts.interconnect = links_of(cluster, facts.ranks);
  facts.ranks_as = fmt::format("a simulation of cluster {}{}", cluster.name,
                               cluster.calibrated ? "" : ", which was never calibrated");
  (shared ? facts.node_memory_bytes : facts.device_memory_bytes) =
      cluster.device.memory_bytes.value;
  facts.rank_classes.clear();
  for (const SimulatedRank& rank : simulation.ranks)
    facts.rank_classes.push_back({.rank = rank.rank,
                                  .alike = rank.alike,
                                  .peak_bytes = rank.peak_bytes,
                                  .times = rank.times});
  return facts;
}

double simulated_utilisation(const RunFacts& facts, double flops_per_step, const Cluster& cluster,
                             const Simulation& simulation, Precision precision) {
  return hardware_flops_utilisation(flops_per_step, simulation.step_seconds,
                                    total_peak(facts, cluster, precision));
}

void record_simulation(const std::filesystem::path& folder, Config config, const RunFacts& facts,
                       const Cluster& cluster, const Simulation& simulation) {
  if (holds_trained_run(folder))
    throw user_error("{} already holds a run", folder.string())
        .help("choose another folder with --out");
  make_folder(folder);
  config.run.out = folder.string();
  write_file_atomically(folder / "config.toml", to_toml(config));
  write_file_atomically(folder / "cluster.toml", to_toml(cluster));
  const Precision precision = resolve_precision(config);
  const auto tokens = static_cast<double>(facts.tokens_per_step);
  const auto share = [&](double flops) {
    return simulated_utilisation(facts, flops, cluster, simulation, precision);
  };
  RunRecorder recorder(folder, facts, std::nullopt);
  recorder.peak(total_peak(facts, cluster, precision), name(matmul_arithmetic(precision)), false);
  StepRecord step{.step = 1,
                  .tokens = tokens,
                  .tokens_per_second = tokens / simulation.step_seconds,
                  .mfu = share(facts.flops_per_token.causal * tokens),
                  .hfu = share(facts.hardware_flops),
                  .step_seconds = simulation.step_seconds,
                  .times = simulation.times,
                  .elapsed_seconds = simulation.step_seconds,
                  .peak_bytes = static_cast<double>(simulation.peak_bytes)};
  step.times.data_seconds = kUnknown;
  recorder.step(step);
}

}  // namespace tessera
