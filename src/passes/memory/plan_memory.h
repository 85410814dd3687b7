// SPDX-License-Identifier: Apache-2.0
// plan_memory: assigns memory to every value and workspace, so that peak bytes are known before the
// first step.
#pragma once

#include "core/device_kind.h"
#include "passes/pass.h"

namespace tessera {

Pass plan_memory(DeviceProfile profile);

}  // namespace tessera
