// SPDX-License-Identifier: Apache-2.0
// One rank's states where they lie, in its persistent arena: for whoever copies a rank's own pieces
// and never makes a tensor whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "program/program.h"

namespace tessera {

class RankStates {
 public:
  virtual ~RankStates() = default;
  virtual int rank() const = 0;
  virtual const Program& program() const = 0;
  // `offset` in bytes of the persistent arena.
  virtual void read_states(int64_t offset, std::span<std::byte> bytes) const = 0;
  virtual void write_states(int64_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace tessera
