// SPDX-License-Identifier: Apache-2.0
// offload_states: lets states rest in the host's memory. Around a block's update, and before its
// weights are used, the device works on staged copies.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass offload_states(Plan plan);

}  // namespace tessera
