// SPDX-License-Identifier: Apache-2.0
// How a GPU splits the rows of an output projection: few large matmuls. A row of logits is padded
// to 64 elements, so that the matmuls are aligned for a vocabulary of any size.
#pragma once

#include <algorithm>
#include <bit>

#include "core/tensor_type.h"

namespace tessera {

struct LogitChunks {
  static constexpr int64_t kLogitsBytes = int64_t{2} << 30, kMinRows = 128, kPadding = 64;
  int64_t rows, vocab, width;
  int64_t stride;  // elements from one row of logits to the next
  int64_t chunk_rows;
  int64_t losses = 0, logits;  // offsets into the workspace, in bytes
  int64_t workspace_bytes;

  LogitChunks(const TensorType& x, const TensorType& table)
      : rows(x.dims[0].size * x.dims[1].size),
        vocab(table.dims[0].size),
        width(table.dims[1].size),
        stride((vocab + kPadding - 1) / kPadding * kPadding) {
    const int64_t row_bytes = stride * size_bytes(x.dtype);
    const auto most = static_cast<uint64_t>(std::max(kMinRows, kLogitsBytes / row_bytes));
    chunk_rows = std::min(rows, static_cast<int64_t>(std::bit_floor(most)));
    logits = (rows * size_bytes(DType::Fp64) + 255) / 256 * 256;
    workspace_bytes = logits + chunk_rows * row_bytes;
  }
};

}  // namespace tessera
