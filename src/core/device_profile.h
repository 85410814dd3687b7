// SPDX-License-Identifier: Apache-2.0
// What a pass may know about a device.
#pragma once

#include <cstdint>

namespace tessera {

struct DeviceProfile {
  int threads =
      1;  // worker threads of one rank; affect the size of kernels' workspaces, never their results
  int64_t memory_bytes = 0;    // of one rank; 0: not known
  double flops_per_byte = 10;  // that take as long as moving one byte: for the cost of a block
};

}  // namespace tessera
