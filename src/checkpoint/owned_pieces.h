// SPDX-License-Identifier: Apache-2.0
// What each rank writes of every state: over all ranks, each element exactly once. Ranks that hold
// copies share the writing. What is stored with the model that a run began from is not written.
#pragma once

#include <span>
#include <vector>

#include "checkpoint/tensor_piece.h"
#include "program/program.h"

namespace tessera {

// Contiguous bytes of the persistent arena.
struct ArenaStretch {
  int64_t offset = 0, bytes = 0;
};

struct OwnedPiece {
  const StateBuffer* state = nullptr;  // of the program
  TensorPiece piece = {};
  std::vector<ArenaStretch> stretches = {};  // in the order of the piece's elements

  int64_t bytes() const { return piece.elements() * size_bytes(state->type.dtype); }
};

Shape shape_of(const TensorType& type);
std::vector<OwnedPiece> owned_pieces(const Program& program, int rank);
// An upper bound of what any rank owns: small tensors count for each rank that could own them.
int64_t most_owned_bytes(std::span<const Program> programs);

}  // namespace tessera
