// SPDX-License-Identifier: Apache-2.0
// A block of threads quantises a tile of 128 x 128 bf16 entries from its registers, as it lies and,
// by way of shared memory, turned: x is read once. A thread has four rows of eight columns, twice.
// After cuda_fp8.h.
#pragma once

#include "exec/cuda/elements.h"
#include "ops/fp8/quantized_matrices.h"

namespace tessera {

inline constexpr int kFp8Side = static_cast<int>(kFp8Tile);

struct QuantizeTiles {
  const Bf16* x;
  int64_t rows, columns;
  const int32_t* used;   // rows that there are, in memory; null: all
  const float* largest;  // of the tensor; null: tiles or blocks find their own
  uint8_t *bytes, *turned;
  float *scale, *turned_scale;
  int64_t scale_step, turned_scale_step;  // from a matrix to the next one

  __device__ int64_t used_rows() const { return used ? *used : rows; }
  __device__ void go_to_matrix(int64_t index) {
    x += index * rows * columns;
    if (bytes) bytes += index * rows * columns, scale += index * scale_step;
    if (turned) turned += index * rows * columns, turned_scale += index * turned_scale_step;
  }
};

// Four entries, the first in the lowest byte.
template <Fp8 kFormat>
__device__ inline uint32_t four_bytes(float a, float b, float c, float d) {
  constexpr auto kKind = kFormat == Fp8::E4m3 ? __NV_E4M3 : __NV_E5M2;
  const uint32_t low = __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, kKind);
  const uint32_t high = __nv_cvt_float2_to_fp8x2(make_float2(c, d), __NV_SATFINITE, kKind);
  return low | high << 16;
}

// rows[i] has four bytes of row i; then those of column i.
__device__ inline void turn_four_by_four(uint32_t (&rows)[4]) {
  const uint32_t a = __byte_perm(rows[0], rows[1], 0x5140),
                 b = __byte_perm(rows[2], rows[3], 0x5140);
  const uint32_t c = __byte_perm(rows[0], rows[1], 0x7362),
                 d = __byte_perm(rows[2], rows[3], 0x7362);
  rows[0] = __byte_perm(a, b, 0x5410);
  rows[1] = __byte_perm(a, b, 0x7632);
  rows[2] = __byte_perm(c, d, 0x5410);
  rows[3] = __byte_perm(c, d, 0x7632);
}

// What a thread has: rows 64 g + 4 band + r of the tile, columns 8 lane + j.
struct TilePiece {
  static constexpr int kGroups = 2, kRows = 4, kColumns = 8, kLanes = kFp8Side / kColumns;
  Pack<Bf16> packs[kGroups][kRows];
  int lane, band;

  __device__ TilePiece(const QuantizeTiles& t, int64_t first_row, int64_t first_column,
                       int64_t used_rows)
      : lane(threadIdx.x % kLanes), band(threadIdx.x / kLanes) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g)
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const int64_t row = first_row + row_of(g, r), column = first_column + kColumns * lane;
        packs[g][r] = row < used_rows && column < t.columns
                          ? load_elements<kColumns>(t.x + row * t.columns + column)
                          : Pack<Bf16>{};
      }
  }
  __device__ int row_of(int g, int r) const { return 64 * g + kRows * band + r; }
  __device__ float at(int g, int r, int j) const { return widen(packs[g][r].values[j]); }
};

// The numbers by which a thread's entries are multiplied: one for each of its rows, and for each of
// its columns in the turned matrix.
struct TileFactors {
  float rows[TilePiece::kGroups][TilePiece::kRows];
  float columns[TilePiece::kColumns];

  __device__ void set_all(float by) {
#pragma unroll
    for (auto& group : rows)
#pragma unroll
      for (float& row : group) row = by;
#pragma unroll
    for (float& column : columns) column = by;
  }
};

// Over the lanes that share rows: half a warp.
__device__ inline float lanes_max(float value) {
#pragma unroll
  for (int distance = TilePiece::kLanes / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}

// The largest |entry| of each of the thread's rows and columns, over the tile.
__device__ inline void find_largest(const TilePiece& piece, TileFactors& largest) {
  __shared__ float by_band[kThreads / TilePiece::kLanes][kFp8Side + 4];
  largest.set_all(0);
#pragma unroll
  for (int g = 0; g < TilePiece::kGroups; ++g)
#pragma unroll
    for (int r = 0; r < TilePiece::kRows; ++r) {
      float own = 0;
#pragma unroll
      for (int j = 0; j < TilePiece::kColumns; ++j) {
        const float size = fabsf(piece.at(g, r, j));
        own = fmaxf(own, size);
        largest.columns[j] = fmaxf(largest.columns[j], size);
      }
      largest.rows[g][r] = lanes_max(own);
    }
  const int first = TilePiece::kColumns * piece.lane;
#pragma unroll
  for (int j = 0; j < TilePiece::kColumns; ++j) by_band[piece.band][first + j] = largest.columns[j];
  __syncthreads();
#pragma unroll
  for (int j = 0; j < TilePiece::kColumns; ++j)
#pragma unroll 4
    for (int band = 0; band < kThreads / TilePiece::kLanes; ++band)
      largest.columns[j] = fmaxf(largest.columns[j], by_band[band][first + j]);
}

template <Fp8 kFormat>
__device__ TileFactors tile_factors(const QuantizeTiles& t, const TilePiece& piece) {
  TileFactors factors;
  find_largest(piece, factors);
  const int64_t first_row = static_cast<int64_t>(blockIdx.y) * kFp8Side;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) * kFp8Side;
#pragma unroll
  for (int g = 0; g < TilePiece::kGroups; ++g)
#pragma unroll
    for (int r = 0; r < TilePiece::kRows; ++r) {
      const int exponent = fp8_exponent(factors.rows[g][r], kFormat);
      factors.rows[g][r] = power_of_two(exponent);
      const int64_t row = first_row + piece.row_of(g, r);
      if (t.scale && piece.lane == 0 && row < t.rows)
        t.scale[blockIdx.x * t.rows + row] = power_of_two(-exponent);
    }
#pragma unroll
  for (int j = 0; j < TilePiece::kColumns; ++j) {
    const int exponent = fp8_exponent(factors.columns[j], kFormat);
    factors.columns[j] = power_of_two(exponent);
    const int64_t column = first_column + TilePiece::kColumns * piece.lane + j;
    if (t.turned_scale && piece.band == 0 && column < t.columns)
      t.turned_scale[blockIdx.y * t.columns + column] = power_of_two(-exponent);
  }
  return factors;
}

// The last block of a row of blocks also fills the padding.
__device__ inline void write_block_scale(float* scales, int64_t row, int64_t block, int64_t k,
                                         float scale) {
  const int64_t padded = padded_fp8_blocks(k);
  scales[row * padded + block] = scale;
  if (block + 1 == fp8_tiles(k))
    for (int64_t i = block + 1; i < padded; ++i) scales[row * padded + i] = 0;
}

template <Fp8 kFormat>
__device__ TileFactors block_factors(const QuantizeTiles& t, const TilePiece& piece) {
  TileFactors factors;
  find_largest(piece, factors);
  float largest = 0;
#pragma unroll
  for (int j = 0; j < TilePiece::kColumns; ++j) largest = fmaxf(largest, factors.columns[j]);
  const int exponent = fp8_exponent(lanes_max(largest), kFormat);
  factors.set_all(power_of_two(exponent));
  if (threadIdx.x == 0) {
    const float scale = power_of_two(-exponent);
    if (t.scale) write_block_scale(t.scale, blockIdx.y, blockIdx.x, t.columns, scale);
    if (t.turned_scale) write_block_scale(t.turned_scale, blockIdx.x, blockIdx.y, t.rows, scale);
  }
  return factors;
}

template <Fp8 kFormat>
__device__ TileFactors tensor_factors(const QuantizeTiles& t) {
  const int exponent = fp8_exponent(*t.largest, kFormat);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
    if (t.scale) *t.scale = power_of_two(-exponent);
    if (t.turned_scale) *t.turned_scale = power_of_two(-exponent);
  }
  TileFactors factors;
  factors.set_all(power_of_two(exponent));
  return factors;
}

// Shared words of four rows each, by column. Words of a column are permuted among themselves, so
// that threads whose columns are eight apart do not meet in a bank.
struct TurnedTile {
  uint32_t words[kFp8Side][kFp8Side / 4];

  static __device__ int shift(int column) { return 2 * (column / TilePiece::kColumns); }
  __device__ void put(int column, int word, uint32_t value) {
    words[column][word ^ shift(column)] = value;
  }
  // Four words: 16 rows.
  __device__ uint4 get(int column, int four) const {
    const int by = shift(column);
    const uint4 read = *reinterpret_cast<const uint4*>(&words[column][4 * (four ^ (by / 4))]);
    return by & 2 ? uint4{read.z, read.w, read.x, read.y} : read;
  }
};

__device__ inline void write_turned(const QuantizeTiles& t, const TurnedTile& tile,
                                    int64_t first_row, int64_t first_column) {
  constexpr int kFours = kFp8Side / 16;
#pragma unroll
  for (int i = threadIdx.x; i < kFp8Side * kFours; i += kThreads) {
    const int column = i / kFours, four = i % kFours;
    if (first_row + 16 * four >= t.rows || first_column + column >= t.columns) continue;
    *reinterpret_cast<uint4*>(t.turned + (first_column + column) * t.rows + first_row + 16 * four) =
        tile.get(column, four);
  }
}

template <Fp8 kFormat, Fp8Scaling kScaling>
__global__ void __launch_bounds__(kThreads, kScaling == Fp8Scaling::Tensor ? 3 : 2)
    quantize_kernel(QuantizeTiles t) {
  __shared__ __align__(16) TurnedTile tile;
  const int64_t first_row = static_cast<int64_t>(blockIdx.y) * kFp8Side;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) * kFp8Side;
  const int64_t used_rows = t.used_rows();
  t.go_to_matrix(blockIdx.z);
  // The first tile writes the scale of a tensor.
  if (t.used && first_row > 0 && first_row >= used_rows) return;
  const TilePiece piece(t, first_row, first_column, used_rows);
  const TileFactors by = kScaling == Fp8Scaling::Tensor  ? tensor_factors<kFormat>(t)
                         : kScaling == Fp8Scaling::Tiles ? tile_factors<kFormat>(t, piece)
                                                         : block_factors<kFormat>(t, piece);
  const int64_t column = first_column + TilePiece::kColumns * piece.lane;
#pragma unroll
  for (int g = 0; g < TilePiece::kGroups; ++g) {
    uint32_t words[2][TilePiece::kRows];
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int r = 0; r < TilePiece::kRows; ++r) {
        const float f = by.rows[g][r];
        words[half][r] =
            four_bytes<kFormat>(piece.at(g, r, 4 * half) * f, piece.at(g, r, 4 * half + 1) * f,
                                piece.at(g, r, 4 * half + 2) * f, piece.at(g, r, 4 * half + 3) * f);
      }
    if (t.bytes)
#pragma unroll
      for (int r = 0; r < TilePiece::kRows; ++r) {
        const int64_t row = first_row + piece.row_of(g, r);
        if (row < t.rows && column < t.columns)
          *reinterpret_cast<uint2*>(t.bytes + row * t.columns + column) = {words[0][r],
                                                                           words[1][r]};
      }
    if (!t.turned) continue;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if constexpr (kScaling == Fp8Scaling::Tiles)
#pragma unroll
        for (int r = 0; r < TilePiece::kRows; ++r)
          words[half][r] =
              four_bytes<kFormat>(piece.at(g, r, 4 * half) * by.columns[4 * half],
                                  piece.at(g, r, 4 * half + 1) * by.columns[4 * half + 1],
                                  piece.at(g, r, 4 * half + 2) * by.columns[4 * half + 2],
                                  piece.at(g, r, 4 * half + 3) * by.columns[4 * half + 3]);
      turn_four_by_four(words[half]);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        tile.put(TilePiece::kColumns * piece.lane + 4 * half + j, 16 * g + piece.band,
                 words[half][j]);
    }
  }
  if (!t.turned) return;
  __syncthreads();
  write_turned(t, tile, first_row, first_column);
}

}  // namespace tessera
