// SPDX-License-Identifier: Apache-2.0
#include "program/pieces.h"

#include <algorithm>

namespace tessera {

using Piece = std::function<void(int64_t, int64_t, int64_t)>;

void for_each_piece(const HostView& program, int rank, const TensorType& whole,
                    const Placement& placement, const FlatPlace& place, const Piece& piece) {
  const int64_t element_bytes = size_bytes(whole.dtype);
  const bool sharded = !place.shard_axes.empty();
  const int64_t held = sharded ? place.shard_elements : INT64_MAX;
  const int64_t first = sharded ? program.mesh.index(rank, place.shard_axes) * held : 0;
  for_each_run(
      program.mesh, rank, whole.dims, placement, [&](int64_t local, int64_t global, int64_t count) {
        const int64_t flat = place.begin + local;
        const int64_t begin = std::max(flat, first);
        const int64_t end = held == INT64_MAX ? flat + count : std::min(flat + count, first + held);
        if (begin < end)
          piece(place.offset + (begin - (place.in_whole ? 0 : first)) * element_bytes,
                global + begin - flat, end - begin);
      });
}

namespace {

// Chunk c of 2 n in the order of a ring: rank r has chunks r and 2 n - 1 - r.
int64_t chunk_at(int64_t slot, int64_t ranks) {
  const int64_t rank = slot / 2;
  return slot % 2 == 0 ? rank : 2 * ranks - 1 - rank;
}

}  // namespace

void for_each_piece(const HostView& program, int rank, const HostBuffer& input,
                    const Piece& piece) {
  const int64_t element_bytes = size_bytes(input.type.dtype);
  const int seq = input.whole.index_of("seq");
  const bool permuted = program.zigzag > 1 && seq >= 0;
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(seq + 1); permuted && i < input.whole.dims.size(); ++i)
    inner *= input.whole.dims[i].size;
  const int64_t length = permuted ? input.whole.dims[static_cast<size_t>(seq)].size : 1;
  const int64_t chunk = permuted ? length / (2 * program.zigzag) : 1;
  for_each_run(
      program.mesh, rank, input.whole.dims, input.placement,
      [&](int64_t local, int64_t global, int64_t count) {
        if (!permuted) return piece(local * element_bytes, global, count);
        // Element by chunk of the sequence.
        for (int64_t done = 0; done < count;) {
          const int64_t at = global + done, row = at / inner;
          const int64_t position = row % length, in_chunk = position % chunk;
          const int64_t take = std::min(count - done, (chunk - in_chunk) * inner - at % inner);
          const int64_t source =
              row - position + chunk_at(position / chunk, program.zigzag) * chunk + in_chunk;
          piece((local + done) * element_bytes, source * inner + at % inner, take);
          done += take;
        }
      });
}

}  // namespace tessera
