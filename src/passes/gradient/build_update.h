// SPDX-License-Identifier: Apache-2.0
// build_update: bundles the parameters of each block into flat buffers and adds, per bundle, the
// gather before use, the reduction of gradients, the norm and the update.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

struct OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;     // 0: gradients are not clipped
  double ema_decay = 0.0;     // 0: no moving average of the weights
  int64_t rounding_seed = 0;  // of updates that are rounded by chance
};

Pass build_update(OptimizerOptions options, Plan plan);

}  // namespace tessera
