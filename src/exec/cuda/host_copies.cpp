// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/host_copies.h"

#include <algorithm>

#include "exec/cuda/device_hub.h"

namespace tessera {
std::unique_ptr<DeviceEvent> HostCopies::take_event() {
  if (free_.empty()) return std::make_unique<DeviceEvent>();
  std::unique_ptr<DeviceEvent> event = std::move(free_.back());
  free_.pop_back();
  return event;
}

void HostCopies::start(MemorySpace space, std::byte* to, const std::byte* from, int64_t bytes,
                       const DeviceStream& compute) {
  const DeviceStream& stream = space == MemorySpace::Host ? to_host_ : to_device_;
  std::unique_ptr<DeviceEvent> event = take_event();
  event->record(compute);
  hold_back(stream, *event);
  check_cuda(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream.get()),
             "copy between GPU and host");
  event->record(stream);
  flying_.push_back({to, std::move(event)});
}

void HostCopies::wait(const std::byte* to, const DeviceStream& compute) {
  const auto found = std::ranges::find(flying_, to, &Flying::to);
  if (found == flying_.end()) return;
  hold_back(compute, *found->done);
  free_.push_back(std::move(found->done));
  flying_.erase(found);
}

}  // namespace tessera
