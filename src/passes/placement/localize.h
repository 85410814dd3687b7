// SPDX-License-Identifier: Apache-2.0
// localize: from the maths of one device to what each rank does: local sizes, a collective wherever
// a use needs another placement, and the expansions of ops that split a dim themselves (ring
// attention, vocabulary-parallel loss).
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass localize(Plan plan);

}  // namespace tessera
