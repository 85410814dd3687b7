// SPDX-License-Identifier: Apache-2.0
// fold_largest_entries: an op that computes a value gives its largest entry too, if it can, instead
// of a pass over memory of its own. After fusions, which change who computes a value.
#pragma once

#include "passes/pass.h"

namespace tessera {

Pass fold_largest_entries();

}  // namespace tessera
