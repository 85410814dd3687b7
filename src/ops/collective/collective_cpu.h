// SPDX-License-Identifier: Apache-2.0
// How the CPU kernels of collective ops copy and wait.
#pragma once

#include <array>
#include <cstring>

#include "exec/collective_call.h"

namespace tessera {

inline void copy_to_result(const CpuCall& call, const std::byte* from) {
  if (call.result(0).data != from)
    std::memcpy(call.result(0).data, from, static_cast<size_t>(call.result(0).type->bytes()));
}
inline void copy_to_result(const CpuCall& call) { copy_to_result(call, call.operand(0).data); }

// Starts all of them and, unless the node says that a `wait` does it, waits for them.
inline void communicate(const CpuCall& call, Communicator& group,
                        std::initializer_list<Collective> collectives) {
  std::array<Ticket, InFlight::kTickets> tickets{};
  size_t count = 0;
  for (const Collective& collective : collectives) tickets[count++] = group.start(collective);
  if (call.attributes.integer("async") != 0)
    return call.in_flight->add(call.result(0).data, group, {tickets.data(), count});
  for (size_t i = 0; i < count; ++i) group.wait(tickets[i]);
}

}  // namespace tessera
