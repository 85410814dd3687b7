// SPDX-License-Identifier: Apache-2.0
// count_loads: how often each expert is chosen in a step, per layer: over all microbatches and all
// ranks. Loads are reported, and routers' biases follow them.
#pragma once

#include "ir/module.h"
#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass count_loads(Plan plan);

// The loads of the router that reads this bias; kNone: none does.
ValueId find_load(const BlockClass& block_class, std::string_view bias);

}  // namespace tessera
