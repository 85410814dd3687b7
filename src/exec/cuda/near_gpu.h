// SPDX-License-Identifier: Apache-2.0
// Memory of the host beside the GPU: while it lives, pages that this thread takes come from the
// NUMA node that the GPU hangs on, as far as there is room. Nothing where the system does not say.
#pragma once

namespace tessera {

class NearGpu {
 public:
  NearGpu();
  ~NearGpu();
  NearGpu(const NearGpu&) = delete;
  NearGpu& operator=(const NearGpu&) = delete;

 private:
  bool bound_ = false;
};

}  // namespace tessera
