// SPDX-License-Identifier: Apache-2.0
// How the CUDA kernels of collective ops copy and wait: both only enqueue.
#pragma once

#include <array>

#include "exec/collective_call.h"
#include "exec/cuda/cuda_call.h"

namespace tessera {

inline void copy_to_result(const CudaCall& call, const std::byte* from) {
  if (call.result(0).data != from)
    check_cuda(cudaMemcpyAsync(call.result(0).data, from,
                               static_cast<size_t>(call.result(0).type->bytes()),
                               cudaMemcpyDeviceToDevice, call.stream),
               "copy a buffer");
}
inline void copy_to_result(const CudaCall& call) { copy_to_result(call, call.operand(0).data); }

// Starts all of them. Peers may be served by this very thread, so waiting is the executor's.
inline void communicate(const CudaCall& call, Communicator& group,
                        std::initializer_list<Collective> collectives) {
  std::array<Ticket, InFlight::kTickets> tickets{};
  const std::span started(tickets.data(), collectives.size());
  group.start_together(std::span(collectives.begin(), collectives.size()), started);
  call.in_flight->add(call.result(0).data, group, started);
}

}  // namespace tessera
