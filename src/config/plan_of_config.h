// SPDX-License-Identifier: Apache-2.0
// The plan that a config's mesh and [plan] ask for, for its model.
#pragma once

#include "config/config.h"
#include "core/device_profile.h"
#include "mesh/plan.h"
#include "models/model_config.h"

namespace tessera {

Plan plan_of_config(const Config& config, const ModelConfig& model);
// The same for a model that will be shrunk: the config's sequence need not fit.
Plan plan_to_shrink(const Config& config, const ModelConfig& model);

// plan.zero with auto resolved by the mesh.
int zero_of_config(const Config& config);
Recompute recompute_of_config(const Config& config);

// What the compiler may know of one rank.
DeviceProfile profile_of_config(const Config& config, int threads_per_rank);

// Compute threads of each rank: the cores shared among the ranks of this machine.
int threads_per_rank(int threads, const Plan& plan);

}  // namespace tessera
