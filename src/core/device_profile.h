// SPDX-License-Identifier: Apache-2.0
// What a pass may know of a device: never the device itself.
#pragma once

#include <cstdint>

namespace tessera {

struct DeviceProfile {
  int threads =
      1;  // worker threads of one rank; sizes kernels' workspaces, never the bits they give
  int64_t memory_bytes = 0;    // of one rank; 0: not known
  double flops_per_byte = 10;  // that take as long as moving one: weighs a block's work
};

}  // namespace tessera
