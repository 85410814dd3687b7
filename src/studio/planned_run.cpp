// SPDX-License-Identifier: Apache-2.0
#include "studio/planned_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/config_fields.h"
#include "core/quantities.h"
#include "planner/knobs.h"

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
  std::vector<std::pair<std::string_view, std::string>> settings;
  for (const Knob& knob : knobs())
    settings.emplace_back(knob.key, knob.setting_of(task, trial.candidate));
  settings.emplace_back("plan.sequence_parallel", trial.candidate.tp() > 1 ? "true" : "false");
  settings.emplace_back("plan.memory", fmt::format("{}B", task.rank_memory_bytes()));
  return settings;
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

std::string memory_text(const PlanTask& task) {
  const auto bytes = [](double value) { return short_bytes(static_cast<int64_t>(value)); };
  const ClusterDevice& device = task.cluster.device;
  const std::string room = short_bytes(task.rank_memory_bytes());
  if (task.memory_bytes) return fmt::format("plans have {} of a rank's memory, as given", room);
  if (device.reserve_bytes.value == 0)
    return fmt::format("plans have {} of memory on a rank", room);
  return fmt::format("plans have {} of a rank's {}: {} are not usable ({})", room,
                     bytes(device.memory_bytes.value), bytes(device.reserve_bytes.value),
                     device.reserve_bytes.source);
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
