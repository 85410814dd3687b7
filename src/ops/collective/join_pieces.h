// SPDX-License-Identifier: Apache-2.0
// A value cut along one dim into a piece for each rank of a ring.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

inline constexpr size_t kMostPieces = 16;

// The place of the piece that the rank `hop` positions before rank `index` has.
constexpr int64_t place_of_piece(int64_t index, int64_t hop, int64_t pieces) {
  return (index + pieces - hop) % pieces;
}

}  // namespace tessera
