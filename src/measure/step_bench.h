// SPDX-License-Identifier: Apache-2.0
// Measures a training step and its floor in turns within one run, because a machine's speed changes
// from minute to minute. The step is a whole one: gradients, norm, clipping and AdamW.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "measure/step_floor.h"
#include "measure/step_profile.h"

namespace tessera {

struct StepBenchOptions {
  int steps = 0;  // to measure; 0: as many as fit about ten seconds, from 4 to 60
  bool profile = false;
  bool profile_by_shape = false;
  std::function<void(std::string_view)> progress = {};  // called when something longer begins
};

struct StepBenchResult {
  int threads = 0;
  int64_t tokens = 0;  // per step; rows for an mlp
  std::vector<double> all_step_seconds;
  double step_seconds = 0;  // the median
  double floor_seconds = 0;
  double floor_ratio = 0;  // floor over step
  double tokens_per_second = 0;
  std::optional<double> joules_per_step, watts;  // means; none where the device does not say
  double peak_flops_per_second = 0;
  double mfu = 0, hfu = 0;
  int64_t peak_bytes = 0;      // planned
  int64_t resident_bytes = 0;  // the most the process held, before the floor's operands were made
  int64_t device_bytes = 0;    // in use on the GPU, by whomever; 0: no GPU
  double first_step_seconds = 0;  // from the start of the process to the end of its first step
  double loss = 0;
  std::vector<FloorRate> floor;
  std::vector<ProfileRow> profile;
};

// Runs on random tokens.
StepBenchResult bench_step(const Config& config, const StepBenchOptions& options);

}  // namespace tessera
