// SPDX-License-Identifier: Apache-2.0
// Checks the invariants of a module's form; run after construction, parsing and every pass. A
// breach is a UserError where a user's own model can cause it, and our own bug (InternalError)
// where only a pass can.
#pragma once

#include "ir/module.h"

namespace tessera {

void verify(const Module& module);

// The part of the verifier that looks at blocks: what one returns the next takes, and ties name a
// parameter that exists and has an owner.
void verify_blocks(const Module& module);

// For modules over a mesh: every sum that is pending is taken exactly once before anything reads
// it, shards meet shards of the same dim, and what leaves a block lies whole where it should.
void verify_placements(const Module& module);

}  // namespace tessera
