// SPDX-License-Identifier: Apache-2.0
// Values that the backward recomputes instead of keeping them: their nodes are cloned, including
// collectives. Whole blocks are recomputed by running their forward again, which scripts do.
#pragma once

#include <set>

#include "core/device_kind.h"
#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass recompute(Plan plan, DeviceProfile profile);

// Forward values that nodes of the backward read.
std::set<ValueId> kept_values(const Graph& graph);
// Clones the nodes that compute these values, before their first use in the backward.
void rebuild_in_backward(Graph& graph, const std::set<ValueId>& dropped);

}  // namespace tessera
