// SPDX-License-Identifier: Apache-2.0
// offload_activations: sends what a block keeps for its backward to the host's memory after the
// forward, and brings it back before the backward: an alternative to recomputing it.
#pragma once

#include "core/device_kind.h"
#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass offload_activations(Plan plan, DeviceProfile profile);

}  // namespace tessera
