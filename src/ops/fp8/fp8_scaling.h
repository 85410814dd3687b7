// SPDX-License-Identifier: Apache-2.0
// How the bytes of a matrix [rows, k], in rows of k as products read them, are scaled: by one
// number, one for each 128 along k (tiles), or one for each block of 128 x 128, as in DeepSeek-V3.
// Scales are powers of two: scaling is exact. They lie as cuBLASLt reads them: of tiles by tile and
// row, of blocks by row of blocks, padded to a multiple of four.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/tensor_type.h"

namespace tessera {

enum class Fp8Scaling : uint8_t { Tensor, Tiles, Blocks };
inline constexpr int64_t kFp8Tile = 128;

constexpr std::optional<Fp8Scaling> fp8_scaling_from_name(std::string_view text) {
  if (text == "tensor") return Fp8Scaling::Tensor;
  if (text == "tiles") return Fp8Scaling::Tiles;
  if (text == "blocks") return Fp8Scaling::Blocks;
  return {};
}

constexpr int64_t fp8_tiles(int64_t size) { return (size + kFp8Tile - 1) / kFp8Tile; }
constexpr int64_t padded_fp8_blocks(int64_t k) { return (fp8_tiles(k) + 3) / 4 * 4; }

// `matrices`: the dims over which there are several matrices, each with scales of its own unless
// all have one.
inline TensorType fp8_scale_type(Fp8Scaling scaling, int64_t rows, int64_t k, Dims matrices = {}) {
  if (scaling == Fp8Scaling::Tensor) return scalar(DType::Fp32);
  TensorType type{DType::Fp32, std::move(matrices)};
  if (scaling == Fp8Scaling::Tiles)
    type.dims.insert(type.dims.end(), {{"tile", fp8_tiles(k)}, {"row", rows}});
  else
    type.dims.insert(type.dims.end(),
                     {{"block_row", fp8_tiles(rows)}, {"block", padded_fp8_blocks(k)}});
  return type;
}

inline Fp8Scaling fp8_scaling_of(const TensorType& scale) {
  if (scale.dims.empty()) return Fp8Scaling::Tensor;
  return scale.has("tile") ? Fp8Scaling::Tiles : Fp8Scaling::Blocks;
}

// Where the scale of element (row, column) of a matrix lies. constexpr, so that GPUs run it too.
struct Fp8ScaleIndex {
  Fp8Scaling scaling;
  int64_t rows, k;

  constexpr int64_t operator()(int64_t row, int64_t column) const {
    if (scaling == Fp8Scaling::Tensor) return 0;
    if (scaling == Fp8Scaling::Tiles) return column / kFp8Tile * rows + row;
    return row / kFp8Tile * padded_fp8_blocks(k) + column / kFp8Tile;
  }
  // From a matrix's scales to the next one's.
  constexpr int64_t step() const {
    if (scaling == Fp8Scaling::Tensor) return 0;
    if (scaling == Fp8Scaling::Tiles) return fp8_tiles(k) * rows;
    return fp8_tiles(rows) * padded_fp8_blocks(k);
  }
};

// The elements that share a scale: this many rows and columns, fewer at the edges.
struct Fp8Unit {
  int64_t rows, columns;
};
constexpr Fp8Unit fp8_unit(Fp8Scaling scaling, int64_t k) {
  if (scaling == Fp8Scaling::Tensor) return {1, k};  // a row of it: its scale is known
  if (scaling == Fp8Scaling::Tiles) return {1, kFp8Tile};
  return {kFp8Tile, kFp8Tile};
}

}  // namespace tessera
