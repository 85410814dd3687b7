// SPDX-License-Identifier: Apache-2.0
// hold_updates: where a pool of experts may be too small, tells how much room was needed, the
// largest over layers, microbatches and ranks, and lets no rank update anything where it was more
// than there is.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass hold_updates(Plan plan);

}  // namespace tessera
