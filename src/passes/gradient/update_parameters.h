// SPDX-License-Identifier: Apache-2.0
// update_parameters: adds the optimizer's update of each bundle, with its slots, master weights and
// moving average.
#pragma once

#include "ir/optimizer.h"
#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass update_parameters(OptimizerOptions options, Plan plan);

}  // namespace tessera
