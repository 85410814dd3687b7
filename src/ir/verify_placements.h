// SPDX-License-Identifier: Apache-2.0
// For modules over a mesh: every sum that is pending is taken exactly once before anything reads
// it, shards meet shards of the same dim, and what leaves a block lies whole where it should.
#pragma once

#include "ir/module.h"

namespace tessera {

void verify_placements(const Module& module);

}  // namespace tessera
