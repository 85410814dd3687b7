// SPDX-License-Identifier: Apache-2.0
// ring_matmuls: cuts gathers before matmuls, and scattered sums after them, into pieces that travel
// round a ring of ranks while others are multiplied. Others know it as asynchronous tensor
// parallelism.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass ring_matmuls(const Plan& plan);

}  // namespace tessera
