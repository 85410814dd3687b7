// SPDX-License-Identifier: Apache-2.0
// shard_states: bundles the parameters of each block into flat buffers and adds, per bundle, the
// gather of weights before their use and the reduction of gradients after it.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass shard_states(Plan plan);

}  // namespace tessera
