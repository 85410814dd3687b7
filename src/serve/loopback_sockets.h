// SPDX-License-Identifier: Apache-2.0
// Sockets that listen on this machine alone: 127.0.0.1 and ::1, on one port.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

class LoopbackSockets {
 public:
  // Port 0: one that is free. A UserError where the port is taken or not ours to take.
  explicit LoopbackSockets(uint16_t port);
  ~LoopbackSockets();
  LoopbackSockets(const LoopbackSockets&) = delete;
  LoopbackSockets& operator=(const LoopbackSockets&) = delete;

  uint16_t port() const { return port_; }
  // Two, or that of 127.0.0.1 alone where the machine has no IPv6. Each belongs to the caller.
  std::vector<int> release();

 private:
  std::vector<int> sockets_;
  uint16_t port_ = 0;
};

}  // namespace tessera
