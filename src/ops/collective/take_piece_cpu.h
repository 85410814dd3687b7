// SPDX-License-Identifier: Apache-2.0
// What takes one rank's piece of a tensor, by the rank's index along an axis.
#pragma once

#include <cstring>

#include "exec/cpu/cpu_call.h"
#include "exec/tensor_parts.h"

namespace tessera {

inline int64_t index_of_rank(const CpuCall& call, size_t operand, int64_t ranks) {
  const int64_t index = *call.operand(operand).as<int32_t>();
  TESSERA_CHECK(index >= 0 && index < ranks, "rank {} of {}", index, ranks);
  return index;
}

// Piece `place` of `ranks` pieces along the attribute `dim` of operand 0. One copy per row outside
// the dim.
inline void copy_piece(const CpuCall& call, int64_t place, int64_t ranks) {
  const TensorType& whole = *call.operand(0).type;
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
