// SPDX-License-Identifier: Apache-2.0
// A peer died, is late, or runs another program. The text names the rank, the collective and the
// group; the first cause wins, so every rank reports the same one.
#pragma once

#include <stdexcept>
#include <string>

namespace tessera {

class PeerError : public std::runtime_error {
 public:
  PeerError(int guilty_rank, const std::string& message)
      : std::runtime_error(message), guilty_rank_(guilty_rank) {}

  int guilty_rank() const { return guilty_rank_; }  // in the world

 private:
  int guilty_rank_;
};

}  // namespace tessera
