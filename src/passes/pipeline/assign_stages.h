// SPDX-License-Identifier: Apache-2.0
// Assigns every block to a pipeline stage, and makes a copy of a shared parameter on each stage
// that uses it.
#pragma once

#include "core/device_kind.h"
#include "mesh/plan.h"
#include "passes/pass.h"
#include "schedule/schedule.h"

namespace tessera {

Pass assign_stages(Plan plan, Schedule schedule, DeviceProfile profile);

// The costs by which stages are balanced: each block's work in flops, with bytes converted to
// flops; only the forward.
std::vector<double> block_costs(const Module& module, const DeviceProfile& profile);

// Cuts a chain of blocks so that the most expensive of `parts` is as cheap as possible, and the
// others are as even as possible. Returns the number of blocks in each part, at least one.
std::vector<int> balance(const std::vector<double>& costs, int parts);

// As many layers in each stage; the embedding joins the first one, the head the last. `blocks` are
// all of them.
std::vector<int> even_stages(int blocks, int stages);

}  // namespace tessera
