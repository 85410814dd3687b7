// SPDX-License-Identifier: Apache-2.0
// Weights that rest in shards start to be gathered one call ahead of their use and are dropped
// behind it; those that the next call needs too stay, so the last block's survive from forward to
// backward. Where memory allows, those of a stage stay for a run of microbatches that pass it one
// after the other in the same direction.
#pragma once

#include "compiler/flat_uses.h"

namespace tessera {

// Adds the calls to a script that has none. `runs`: for each call, the run of microbatches whose
// weights stay; empty where none do.
void add_gathers(Script& script, const std::vector<int>& runs, const Program& program,
                 FlatUses& uses);

}  // namespace tessera
