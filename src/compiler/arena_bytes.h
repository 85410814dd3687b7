// SPDX-License-Identifier: Apache-2.0
// Bytes of an arena are taken from its end, one buffer after the other, and counted by kind.
#pragma once

#include "ir/memory.h"
#include "program/program.h"

namespace tessera {

inline int64_t take(int64_t& arena, int64_t bytes) {
  const int64_t offset = arena;
  arena += align_up(bytes);
  return offset;
}

inline void count(Program& program, BufferKind kind, int64_t bytes) {
  program.bytes_by_kind[static_cast<size_t>(kind)] += bytes;
}

}  // namespace tessera
