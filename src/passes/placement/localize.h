// SPDX-License-Identifier: Apache-2.0
// localize: from the maths of one device to what each rank does: local sizes, a collective wherever
// a value is wanted elsewhere than it lies, and expansions of ops that split a dim by talking.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass localize(Plan plan);

}  // namespace tessera
