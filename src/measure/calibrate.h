// SPDX-License-Identifier: Apache-2.0
// Measures this machine into a cluster that the simulator reads: peaks, kernels and collectives by
// size, ranks being threads of this process; or its GPU, which is a cluster of one rank.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/cluster.h"

namespace tessera {

struct CalibrateOptions {
  std::string name = "this-machine";
  int cores = 1;
  bool quick = false;  // fewer sizes: seconds instead of a minute, for a first look
  std::function<void(std::string_view)> progress = {};  // called when something longer begins
};

Cluster calibrate(const CalibrateOptions& options);
// In bf16, and the products of fp8 where the GPU has it. A UserError where there is no GPU.
Cluster calibrate_gpu(const CalibrateOptions& options);

}  // namespace tessera
