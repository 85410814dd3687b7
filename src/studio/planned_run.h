// SPDX-License-Identifier: Apache-2.0
// The run that a plan is for: its config, how to start it on the cluster, and how long it takes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "planner/trial.h"

namespace tessera {

// The knobs of the trial but for the mesh, by key of a config: the one list of them.
std::vector<std::pair<std::string_view, std::string>> planned_settings(const PlanTask& task,
                                                                       const Trial& trial);

// The given config, with the knobs of the trial, for the devices of the task's cluster. On GPUs it
// saves about every quarter of an hour, unless the config specifies how often.
Config planned_config(Config config, const PlanTask& task, const Trial& trial);

// Shell commands, one of which starts the config in `file`.
std::vector<std::string> launch_lines(const PlanTask& task, const std::string& file);

// "plans have 77.0 GB of a rank's 80.0 GB: 3.00 GB are not usable (CUDA takes ...)"
std::string memory_text(const PlanTask& task);

double tokens_per_second(const PlanTask& task, const Trial& trial);
double days_per_trillion_tokens(const PlanTask& task, const Trial& trial);
// ", 7314 per device"; empty if ranks share a machine's cores.
std::string per_device_text(const PlanTask& task, const Trial& trial);

}  // namespace tessera
