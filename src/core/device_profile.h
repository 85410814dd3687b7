// SPDX-License-Identifier: Apache-2.0
// What a pass may know of a device: never the device itself.
#pragma once

namespace tessera {

struct DeviceProfile {
  int threads =
      1;  // worker threads of one rank; sizes kernels' workspaces, never the bits they give
};

}  // namespace tessera
