// SPDX-License-Identifier: Apache-2.0
// Gives every block its stage of the pipeline, and a parameter that several stages use a copy on
// each.
#pragma once

#include "core/device_profile.h"
#include "mesh/plan.h"
#include "passes/pass.h"
#include "schedule/schedule.h"

namespace tessera {

Pass assign_stages(Plan plan, Schedule schedule, DeviceProfile profile);

// What stages are balanced by: each block's work in flops, bytes weighed. Maths alone, no
// gradients.
std::vector<double> block_costs(const Module& module, const DeviceProfile& profile);

// Where to cut a chain of blocks so that the dearest of `parts` is as cheap as it can be, and the
// others as even: how many blocks each part has, one or more.
std::vector<int> balance(const std::vector<double>& costs, int parts);

}  // namespace tessera
