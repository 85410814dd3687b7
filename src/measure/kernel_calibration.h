// SPDX-License-Identifier: Apache-2.0
// How much of the roofline this machine's kernels reach, by size: every kernel of whole training
// steps of small made-up models, because caches are then as a step leaves them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "sim/kernel_cost.h"

namespace tessera {

struct KernelCalibration {
  std::vector<EfficiencyTable> tables;
  double launch_seconds = 0;  // between two kernels
};

// `device` gives the roofline. Measured with one thread, with one on each core, and with two
// ranks of one thread, or also four where there are cores for them.
// `quick`: small models alone.
KernelCalibration calibrate_kernels(const Cluster& device, int cores, bool quick,
                                    const std::function<void(std::string_view)>& progress);

}  // namespace tessera
