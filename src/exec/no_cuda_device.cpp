// SPDX-License-Identifier: Apache-2.0
// The table of devices in builds without CUDA.
#include "exec/device.h"

namespace tessera {

const Device* cuda_device() { return nullptr; }

}  // namespace tessera
