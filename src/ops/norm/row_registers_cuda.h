// SPDX-License-Identifier: Apache-2.0
// A row in the registers of `lanes` threads, read from memory once, 16 bytes at a time where rows
// are aligned. Up to 32 lanes share a warp, and rows a block; with more, a block has one row.
#pragma once

#include <bit>

#include "exec/cuda/elements.h"

namespace tessera {

// A thread has kPacks times kWidth elements, in a block of kMostThreads at most.
template <int kWidthOf, int kPacksOf, int kMostThreadsOf>
struct RowShape {
  static constexpr int kWidth = kWidthOf, kPacks = kPacksOf, kMostThreads = kMostThreadsOf;
  static constexpr int kSize = kWidth * kPacks;
};

template <typename T, typename Shape>
struct RowPiece {
  Elements<T, Shape::kWidth> packs[Shape::kPacks];

  // Zeros beyond the row, and where `inside` is false.
  __device__ void load(const T* row, int64_t cols, int lanes, int lane, bool inside) {
#pragma unroll
    for (int p = 0; p < Shape::kPacks; ++p) {
      const int64_t c = (p * lanes + lane) * Shape::kWidth;
      packs[p] = {};
      if (inside && c < cols) packs[p] = load_elements<Shape::kWidth>(row + c);
    }
  }
  __device__ void store(T* row, int64_t cols, int lanes, int lane) const {
#pragma unroll
    for (int p = 0; p < Shape::kPacks; ++p) {
      const int64_t c = (p * lanes + lane) * Shape::kWidth;
      if (c < cols) store_elements(row + c, packs[p]);
    }
  }
  __device__ Accumulator<T> at(int i) const {
    return widen(packs[i / Shape::kWidth].values[i % Shape::kWidth]);
  }
  __device__ void set(int i, Accumulator<T> value) {
    packs[i / Shape::kWidth].values[i % Shape::kWidth] = narrow<T>(value);
  }
};

// Over the lanes of a row; every lane gets it. All threads of the block come here.
template <typename S>
__device__ inline S row_sum(S value, int lanes) {
  if (lanes > 32) return block_sum(value);
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

struct RowThreads {
  int lanes, threads;
  int rows() const { return threads / lanes; }
};

inline constexpr int64_t kMostNormCols = 32768;

inline int whole_warps(int64_t threads) { return static_cast<int>((threads + 31) / 32 * 32); }

// Rows of `packs` times 16 bytes.
template <typename T, typename Body>
void with_packed_row_shape(int64_t packs, Body&& body) {
  constexpr int kFull = kElements<T>;
  if (packs <= 32) {
    const auto lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(packs)));
    body.template operator()<RowShape<kFull, 1, 256>>(RowThreads{lanes, 256});
  } else if (packs <= 64) {
    body.template operator()<RowShape<kFull, 2, 256>>(RowThreads{32, 256});
  } else if (packs <= 96) {
    body.template operator()<RowShape<kFull, 3, 256>>(RowThreads{32, 256});
  } else if (packs <= 256) {
    const int lanes = whole_warps(packs);
    body.template operator()<RowShape<kFull, 1, 256>>(RowThreads{lanes, lanes});
  } else if (packs <= 512) {
    const int lanes = whole_warps((packs + 1) / 2);
    body.template operator()<RowShape<kFull, 2, 256>>(RowThreads{lanes, lanes});
  } else {
    const int lanes = whole_warps((packs + 7) / 8);
    body.template operator()<RowShape<kFull, 8, 1024>>(RowThreads{lanes, lanes});
  }
}

// Calls body.operator()<Shape>(threads) with what fits rows of `cols` elements. fp64 and rows that
// are not aligned go one element at a time.
template <typename T, typename Body>
void with_row_shape(int64_t cols, Body&& body) {
  if (cols > kMostNormCols)
    throw user_error("a norm on a GPU takes rows of {} elements at most, not {}", kMostNormCols,
                     cols)
        .help("use --device cpu");
  if constexpr (sizeof(T) < 8)
    if (cols % kElements<T> == 0) return with_packed_row_shape<T>(cols / kElements<T>, body);
  const int lanes = whole_warps((cols + 31) / 32);
  body.template operator()<RowShape<1, 32, 1024>>(RowThreads{lanes, lanes == 32 ? 128 : lanes});
}

}  // namespace tessera
