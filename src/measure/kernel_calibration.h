// SPDX-License-Identifier: Apache-2.0
// How much of the roofline this machine's kernels reach, by size: every kernel of whole training
// steps of small made-up models, because caches are then as a step leaves them.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "measure/calibration_model.h"
#include "sim/kernel_cost.h"

namespace tessera {

struct KernelCalibration {
  std::vector<EfficiencyTable> tables;
  double launch_seconds = 0;  // between two kernels
};

std::span<const CalibrationModel> cpu_calibration_models();
// One thread, one on each core, and two ranks of one thread, or also four where there are cores for
// them. Every model must divide by all of them.
std::vector<RankLoad> cpu_calibration_loads(int cores);
Config cpu_calibration_config(const CalibrationModel& model, const RankLoad& load);

// `device` gives the roofline. Every model is measured under every load.
// `quick`: small models alone.
KernelCalibration calibrate_kernels(const Cluster& device, int cores, bool quick,
                                    const std::function<void(std::string_view)>& progress);

}  // namespace tessera
