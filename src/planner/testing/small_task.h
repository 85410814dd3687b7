// SPDX-License-Identifier: Apache-2.0
// Tasks for tests: a preset on DGX H100 nodes; and one so small that every candidate can be
// simulated, on slow links and with so little memory that many do not fit.
#pragma once

#include "models/presets.h"
#include "planner/candidate.h"

namespace tessera {

inline PlanTask preset_task(std::string_view preset, int ranks, int64_t batch, int64_t seq) {
  return {.run = {.model = resolved(find_preset(preset).config),
                  .precision = DType::Bf16,
                  .microbatch = {.batch = batch, .seq = seq},
                  .device = DeviceKind::Cuda},
          .ranks = ranks,
          .cluster = load_cluster("dgx-h100")};
}

inline PlanTask small_task(int ranks, int64_t batch, double memory_bytes,
                           std::string_view preset = "tiny") {
  PlanTask task = preset_task(preset, ranks, batch, 2048);
  task.run.model.context = task.run.seq();
  task.cluster.levels[0].ranks = 2;
  for (Level& level : task.cluster.levels) level.bandwidth.value /= 20;
  task.cluster.device.memory_bytes.value = memory_bytes;
  task.cluster.device.reserve_bytes.value = 0;
  return task;
}

}  // namespace tessera
