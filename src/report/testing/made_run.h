// SPDX-License-Identifier: Apache-2.0
// For tests: the record of a synthetic run. Ten steps of one second: 0.6 compute, 0.05 exposed
// communication, 0.2 bubble, 0.01 data, 0.04 within the step and 0.1 before it otherwise.
#pragma once

#include "record/run_record.h"

namespace tessera {

inline StepRecord made_step(int64_t step) {
  return {.step = step,
          .loss = 5.0 - 0.1 * static_cast<double>(step),
          .tokens = 100.0 * static_cast<double>(step),
          .tokens_per_second = 100 / 0.9,
          .mfu = 0.4,
          .hfu = 0.5,
          .step_seconds = 0.9,
          .times = {.compute_seconds = 0.6,
                    .exposed_communication_seconds = 0.05,
                    .bubble_seconds = 0.2,
                    .data_seconds = 0.01},
          .elapsed_seconds = static_cast<double>(step)};
}

inline RunRecord made_run(int64_t steps = 10) {
  RunRecord run{.folder = "made",
                .config = parse_config("", "made", std::vector<std::string>{"mesh=pp=2,dp=2"}),
                .facts = RunFacts{.model = "tiny",
                                  .parameters = 1000,
                                  .device = "abacus",
                                  .device_unit = "devices",
                                  .device_count = 4,
                                  .nodes = 2,
                                  .interconnect = "string",
                                  .device_memory_bytes = 1000,
                                  .mesh = "pp=2,dp=2",
                                  .ranks = 4,
                                  .tokens_per_step = 100,
                                  .flops_per_token = {.causal = 10, .full = 15},
                                  .hardware_flops = 1250,
                                  .matmul_side = 1024,
                                  .stages = 2,
                                  .schedule_bubble = 0.2,
                                  .rank_classes = {{.rank = 0, .alike = 2, .peak_bytes = 900},
                                                   {.rank = 2, .alike = 2, .peak_bytes = 600}}},
                .peak_flops_per_second = 2777.8};
  run.events.push_back({.kind = "start"});
  for (int64_t step = 1; step <= steps; ++step) run.steps.push_back(made_step(step));
  run.events.push_back(
      {.kind = "end", .step = steps, .elapsed_seconds = static_cast<double>(steps)});
  return run;
}

// A run whose rank 0 was killed, resumed from step 4.
inline RunRecord killed_run(int64_t dropped_steps, double dropped_seconds) {
  RunRecord run = made_run();
  run.events.insert(run.events.begin() + 1, {.kind = "start",
                                             .step = 4,
                                             .text = "rank 0 was killed",
                                             .dropped_steps = dropped_steps,
                                             .dropped_seconds = dropped_seconds});
  return run;
}

}  // namespace tessera
