// SPDX-License-Identifier: Apache-2.0
// plan_memory: gives every value and workspace its place, so that peak bytes are known before the
// first step.
#pragma once

#include "core/device_profile.h"
#include "passes/pass.h"

namespace tessera {

Pass plan_memory(DeviceProfile profile);

}  // namespace tessera
