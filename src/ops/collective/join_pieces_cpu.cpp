// SPDX-License-Identifier: Apache-2.0
// One copy per row outside the dim, for each piece.
#include "ops/collective/join_pieces.h"
#include "ops/collective/take_piece_cpu.h"

namespace tessera {

void join_pieces_cpu(const CpuCall& call) {
  const TensorType& whole = *call.result(0).type;
  const int64_t pieces = std::ssize(call.operands) - 1, index = index_of_rank(call, 0, pieces);
  const auto dim = static_cast<size_t>(whole.index_of(call.attributes.word("dim")));
  const Parts parts = parts_along(whole, dim, pieces);
  const int64_t element = size_bytes(whole.dtype), row = parts.inner * element;
  call.threads.run(pieces * parts.outer, [&](int64_t i, int) {
    const int64_t hop = i / parts.outer, o = i % parts.outer;
    const int64_t place = place_of_piece(index, hop, pieces);
    std::memcpy(
        call.result(0).data + (o * parts.outer_stride + place * parts.part_stride) * element,
        call.operand(static_cast<size_t>(hop) + 1).data + o * row, static_cast<size_t>(row));
  });
}

void take_piece_cpu(const CpuCall& call) {
  const int64_t ranks = call.attributes.integer("ranks"), index = index_of_rank(call, 1, ranks);
  copy_piece(call, place_of_piece(index, call.attributes.integer("hop"), ranks), ranks);
}

}  // namespace tessera
