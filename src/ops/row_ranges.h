// SPDX-License-Identifier: Apache-2.0
// How work is split into pieces: only by sizes, never by the number of threads, so that the bits
// stay the same.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessera {

// Enough work to outweigh the overhead, few enough bytes (64 KB of fp32) to stay in a core's cache.
inline constexpr int64_t kPieceElements = 16384;
inline int64_t num_pieces(int64_t elements) {
  return (elements + kPieceElements - 1) / kPieceElements;
}

// body(first_row, last_row) over pieces of about kPieceElements.
template <typename Threads, typename Body>
void run_rows(Threads& threads, int64_t rows, int64_t cols, Body&& body) {
  threads.run_ranges(rows, std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, cols)),
                     [&](int64_t begin, int64_t end, int) { body(begin, end); });
}

// Rows that are summed: few chunks, each with its own partial sum in the workspace.
struct RowChunks {
  static constexpr int64_t kMaxChunks = 32, kMinRows = 8;
  int64_t rows, rows_per_chunk;

  explicit RowChunks(int64_t row_count)
      : rows(row_count),
        rows_per_chunk(std::max(kMinRows, (row_count + kMaxChunks - 1) / kMaxChunks)) {}
  int64_t count() const { return (rows + rows_per_chunk - 1) / rows_per_chunk; }
  int64_t begin(int64_t chunk) const { return chunk * rows_per_chunk; }
  int64_t end(int64_t chunk) const { return std::min(rows, begin(chunk) + rows_per_chunk); }
};

}  // namespace tessera
