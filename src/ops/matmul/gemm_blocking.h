// SPDX-License-Identifier: Apache-2.0
// How a matmul is split into blocks, and its workspace. The depth of a block depends only on k,
// because no other split changes the bits.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessera {

// The core's register tile: rows of A by bytes of a row of B.
inline constexpr int64_t kStripRows = 6;
inline constexpr int64_t kPanelBytes = 256;

// Measured with 48 KiB + 1.25 MiB of cache per core: blocks of B above 800 KiB lose up to 40 %,
// depths below 256 lose 3 %.
inline constexpr int64_t kMaxDepth = 384;
inline constexpr int64_t kBlockBytes = 800 << 10;
inline constexpr int64_t kRowsAtOnce =
    16 * kStripRows;  // rows of A packed, or of C finished, together
inline constexpr int64_t kRowsInPlace = kRowsAtOnce;        // tiles of no more read B unpacked,
inline constexpr int64_t kFewRowsInPlace = 2 * kStripRows;  // and no more than these where B is
inline constexpr int64_t kNearBytes = 4 << 20;              // larger, or vectors are narrow
inline constexpr int64_t kScratchRows = 2 * kRowsAtOnce;    // of a tile whose sums cannot stay in C

inline int64_t num_blocks(int64_t count, int64_t size) { return (count + size - 1) / size; }

// k falls into equal blocks.
inline int64_t block_depth(int64_t k) {
  const int64_t blocks = std::max<int64_t>(1, num_blocks(k, kMaxDepth));
  return num_blocks(num_blocks(k, blocks), 8) * 8;
}

inline int64_t panels_per_block(int64_t k) {
  return std::max<int64_t>(1, kBlockBytes / (block_depth(k) * kPanelBytes));
}

// One worker's part of the workspace, in bytes: a block of B, rows of A, and a tile of C.
struct GemmScratch {
  int64_t b, a, c;
  int64_t bytes() const { return b + a + c; }
};

inline GemmScratch gemm_scratch(int64_t m, int64_t n, int64_t k, int64_t accumulator_bytes) {
  const int64_t panel = kPanelBytes / accumulator_bytes;
  const int64_t block_columns = std::min(num_blocks(n, panel), panels_per_block(k)) * panel;
  const int64_t rows = num_blocks(m, kStripRows) * kStripRows;
  const auto aligned = [&](int64_t elements) {
    return num_blocks(elements * accumulator_bytes, 64) * 64;
  };
  return {.b = aligned(block_depth(k) * block_columns),
          .a = aligned(block_depth(k) * std::min(rows, kRowsAtOnce)),
          .c = aligned(block_columns * std::min(rows, kScratchRows))};
}

inline int64_t gemm_workspace_bytes(int64_t m, int64_t n, int64_t k, int64_t accumulator_bytes,
                                    int threads) {
  return gemm_scratch(m, n, k, accumulator_bytes).bytes() * threads;
}

// Of groups whose depth may be anything up to k: blocks are as wide as those of the greatest depth.
inline GemmScratch grouped_gemm_scratch(int64_t m, int64_t n, int64_t k,
                                        int64_t accumulator_bytes) {
  const int64_t panel = kPanelBytes / accumulator_bytes;
  const int64_t depth = std::min(kMaxDepth, num_blocks(k, 8) * 8);
  const int64_t columns = std::min(num_blocks(n, panel), panels_per_block(kMaxDepth)) * panel;
  const int64_t rows = num_blocks(m, kStripRows) * kStripRows;
  const auto aligned = [&](int64_t elements) {
    return num_blocks(elements * accumulator_bytes, 64) * 64;
  };
  return {.b = aligned(depth * columns),
          .a = aligned(depth * std::min(rows, kRowsAtOnce)),
          .c = aligned(columns * std::min(rows, kScratchRows))};
}

// How one group is cut into tiles.
struct GroupTiles {
  int64_t first_task;
  int64_t rows, columns;  // of a tile
  int64_t row_tiles;
};

inline int64_t group_table_bytes(int64_t groups) {
  return num_blocks(groups * static_cast<int64_t>(sizeof(GroupTiles)), 64) * 64;
}

inline int64_t grouped_gemm_workspace_bytes(int64_t groups, int64_t m, int64_t n, int64_t k,
                                            int64_t accumulator_bytes, int threads) {
  return group_table_bytes(groups) +
         grouped_gemm_scratch(m, n, k, accumulator_bytes).bytes() * threads;
}

}  // namespace tessera
