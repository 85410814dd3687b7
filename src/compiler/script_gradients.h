// SPDX-License-Identifier: Apache-2.0
// Copies gradients that rest on the host: they come one call before one that adds to them or reads
// them, stay while the next such call needs them too, and leave beside the call after.
#pragma once

#include "compiler/flat_uses.h"

namespace tessera {

// Adds the calls to a script that has all others.
void add_gradient_copies(Script& script, const Module& module, const Program& program,
                         FlatUses& uses);

}  // namespace tessera
