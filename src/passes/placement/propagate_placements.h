// SPDX-License-Identifier: Apache-2.0
// propagate_placements: assigns every value its placement over the plan's mesh. Types stay those of
// one device.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass propagate_placements(Plan plan);

}  // namespace tessera
