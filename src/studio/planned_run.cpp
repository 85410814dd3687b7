// SPDX-License-Identifier: Apache-2.0
#include "studio/planned_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/config_fields.h"

namespace tessera {
namespace {

constexpr double kSecondsBetweenSaves = 900;

// 1, 2 or 5 times a power of ten, at most `steps`.
int64_t round_steps(double steps) {
  const double power = std::pow(10, std::floor(std::log10(std::max(1.0, steps))));
  const double digit = steps / power;
  return static_cast<int64_t>(power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1));
}

}  // namespace

std::vector<std::pair<std::string_view, std::string>> planned_settings(const PlanTask& task,
                                                                       const Trial& trial) {
  const Candidate& candidate = trial.candidate;
  return {{"train.microbatches", fmt::format("{}", candidate.microbatches(task.run.batch()))},
          {"plan.zero", fmt::format("{}", candidate.zero)},
          {"plan.sequence_parallel", candidate.tp() > 1 ? "true" : "false"},
          {"plan.context", std::string(name(candidate.context))},
          {"plan.experts", candidate.experts},
          {"plan.dispatch", std::string(name(candidate.dispatch))},
          {"plan.schedule", candidate.schedule},
          {"plan.chunks", fmt::format("{}", candidate.pp() > 1 ? candidate.chunks : 0)},
          {"plan.recompute", std::string(recompute_name(candidate))},
          {"plan.recompute_every", fmt::format("{}", candidate.every)},
          {"plan.memory", fmt::format("{}B", task.rank_memory_bytes())}};
}

Config planned_config(Config config, const PlanTask& task, const Trial& trial) {
  config.mesh = trial.candidate.axes.above_one();
  config.plan_dims.clear();
  config.plan.stages.clear();
  const std::vector<ConfigField> fields = config_fields(config);
  for (const auto& [key, text] : planned_settings(task, trial))
    set_field(*std::ranges::find(fields, key, &ConfigField::key), text, std::string(key));
  if (config.data.path.empty() && config.data.source == DataSource::Stories)
    config.data.source = DataSource::Auto;
  if (task.cluster.device.cores > 0) return config;
  config.run.device = DeviceKind::Cuda;
  if (config.checkpoint.every == 0)
    config.checkpoint.every = round_steps(kSecondsBetweenSaves / trial.simulation.step_seconds);
  return config;
}

std::vector<std::string> launch_lines(const PlanTask& task, const std::string& file) {
  if (task.ranks == 1 || task.cluster.device.cores > 0) return {"tessera train " + file};
  const int in_node = std::min(task.cluster.levels.front().ranks, task.ranks);
  const int nodes = (task.ranks + in_node - 1) / in_node;
  const std::string by_node = nodes > 1 ? fmt::format(" --map-by ppr:{}:node", in_node) : "";
  return {
      fmt::format("mpirun -np {}{} tessera train {}", task.ranks, by_node, file),
      fmt::format(
          "srun --kill-on-bad-exit=1 --nodes={} --ntasks={} --gpus-per-node={} tessera train {}",
          nodes, task.ranks, in_node, file),
      fmt::format("tessera launch train {}    # either of them, with restarts after failures",
                  file)};
}

double tokens_per_second(const PlanTask& task, const Trial& trial) {
  return static_cast<double>(task.run.tokens_per_step()) / trial.simulation.step_seconds;
}

double days_per_trillion_tokens(const PlanTask& task, const Trial& trial) {
  constexpr double kSecondsPerDay = 86400;
  return 1e12 / tokens_per_second(task, trial) / kSecondsPerDay;
}

std::string per_device_text(const PlanTask& task, const Trial& trial) {
  if (task.cluster.device.cores > 0) return "";
  return fmt::format(", {:.0f} per device", tokens_per_second(task, trial) / task.ranks);
}

}  // namespace tessera
