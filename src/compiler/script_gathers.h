// SPDX-License-Identifier: Apache-2.0
// Starts to gather sharded weights one call ahead of their use and drops them after it. Weights
// that the next call needs too stay, so the last block's survive from forward to backward. Where
// memory allows, a stage keeps its weights for a run of microbatches in the same direction.
#pragma once

#include "compiler/flat_uses.h"

namespace tessera {

// Adds the calls to a script that has none. `runs`: for each call, the run of microbatches whose
// weights stay; empty where none do.
void add_gathers(Script& script, const std::vector<int>& runs, const Program& program,
                 FlatUses& uses);

}  // namespace tessera
