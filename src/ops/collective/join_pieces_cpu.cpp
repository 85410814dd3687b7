// SPDX-License-Identifier: Apache-2.0
// One copy per row outside the dim, for each piece.
#include <cstring>

#include "exec/cpu/cpu_call.h"
#include "exec/tensor_parts.h"
#include "ops/collective/join_pieces.h"

namespace tessera {
namespace {

// This rank's position in the ring.
int64_t position(const CpuCall& call, size_t operand, int64_t ranks) {
  const int64_t index = *call.operand(operand).as<int32_t>();
  TESSERA_CHECK(index >= 0 && index < ranks, "rank {} of {}", index, ranks);
  return index;
}

}  // namespace

void join_pieces_cpu(const CpuCall& call) {
  const TensorType& whole = *call.result(0).type;
  const int64_t pieces = std::ssize(call.operands) - 1, index = position(call, 0, pieces);
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
  const TensorType& whole = *call.operand(0).type;
  const int64_t ranks = call.attributes.integer("ranks"), index = position(call, 1, ranks);
  const int64_t place = place_of_piece(index, call.attributes.integer("hop"), ranks);
  const auto dim = static_cast<size_t>(whole.index_of(call.attributes.word("dim")));
  const Parts parts = parts_along(whole, dim, ranks);
  const int64_t element = size_bytes(whole.dtype), row = parts.inner * element;
  call.threads.run(parts.outer, [&](int64_t o, int) {
    std::memcpy(
        call.result(0).data + o * row,
        call.operand(0).data + (o * parts.outer_stride + place * parts.part_stride) * element,
        static_cast<size_t>(row));
  });
}

}  // namespace tessera
