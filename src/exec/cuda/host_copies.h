// SPDX-License-Identifier: Apache-2.0
// Copies between a GPU's memory and the host's that run beside kernels: one stream for each
// direction. All that is started is waited for by the compute stream, so a captured step joins it.
#pragma once

#include <memory>
#include <vector>

#include "exec/cuda/device_memory.h"
#include "ir/memory.h"

namespace tessera {

class HostCopies {
 public:
  // After what `compute` has enqueued so far; the host's memory is pinned.
  void start(MemorySpace space, std::byte* to, const std::byte* from, int64_t bytes,
             const DeviceStream& compute);
  // What `compute` enqueues next runs after the copy to that address; nothing where none flies.
  void wait(const std::byte* to, const DeviceStream& compute);

 private:
  struct Flying {
    const std::byte* to;
    std::unique_ptr<DeviceEvent> done;
  };
  std::unique_ptr<DeviceEvent> take_event();

  DeviceStream to_host_, to_device_;
  std::vector<Flying> flying_;
  std::vector<std::unique_ptr<DeviceEvent>> free_;
};

}  // namespace tessera
