// SPDX-License-Identifier: Apache-2.0
// The plan that a config's mesh and [plan] ask for, for its model.
#pragma once

#include "mesh/plan.h"
#include "models/model_config.h"
#include "train/config.h"

namespace tessera {

Plan plan_of_config(const Config& config, const ModelConfig& model);

// Compute threads of each rank: the cores shared among the ranks of this machine.
int threads_per_rank(int threads, const Plan& plan);

}  // namespace tessera
