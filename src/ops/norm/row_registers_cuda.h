// SPDX-License-Identifier: Apache-2.0
// A row in the registers of `lanes` threads, read from memory once, 16 bytes at a time where rows
// are aligned. Up to 32 lanes share a warp, and rows a block; with more, a block has one row.
#pragma once

#include <bit>

#include "ops/largest_entry_cuda.h"

namespace tessera {

inline constexpr int64_t kMultiprocessors = 132;  // of an H200; correct on other GPUs, too

// A thread has kPacks times kWidth elements, in a block of kMostThreads at most; registers are for
// kBlocks blocks on a multiprocessor.
template <int kWidthOf, int kPacksOf, int kMostThreadsOf, int kBlocksOf>
struct RowShape {
  static constexpr int kWidth = kWidthOf, kPacks = kPacksOf;
  static constexpr int kMostThreads = kMostThreadsOf, kBlocks = kBlocksOf;
  static constexpr int kSize = kWidth * kPacks;
};

struct RowThreads {
  int lanes, threads;
  int rows() const { return threads / lanes; }
};

// Of bf16, a register has two: its halves are never moved about.
template <typename T, typename Shape>
struct RowPiece {
  static constexpr bool kPairs = std::is_same_v<T, Bf16> && Shape::kWidth % 2 == 0;
  using Stored = std::conditional_t<kPairs, uint32_t, T>;
  using Stores = Elements<Stored, kPairs ? Shape::kWidth / 2 : Shape::kWidth>;
  Stores packs[Shape::kPacks];

  __device__ static int column(int pack, int lanes, int lane) {
    return (pack * lanes + lane) * Shape::kWidth;
  }
  // Zeros beyond the row, and where `inside` is false.
  __device__ void load(const T* row, int cols, int lanes, int lane, bool inside) {
#pragma unroll
    for (int p = 0; p < Shape::kPacks; ++p) {
      const int c = column(p, lanes, lane);
      packs[p] = {};
      if (inside && c < cols) packs[p] = *reinterpret_cast<const Stores*>(row + c);
    }
  }
  __device__ void store(T* row, int cols, int lanes, int lane) const {
#pragma unroll
    for (int p = 0; p < Shape::kPacks; ++p) {
      const int c = column(p, lanes, lane);
      if (c < cols) *reinterpret_cast<Stores*>(row + c) = packs[p];
    }
  }
  __device__ Accumulator<T> at(int i) const {
    const Stores& pack = packs[i / Shape::kWidth];
    if constexpr (kPairs) {
      const uint32_t pair = pack.values[i % Shape::kWidth / 2];
      return __uint_as_float(i % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
    } else {
      return widen(pack.values[i % Shape::kWidth]);
    }
  }
  __device__ float largest_entry() const {
    float largest = 0;
#pragma unroll
    for (int i = 0; i < Shape::kSize; ++i)
      largest = fmaxf(largest, fabsf(static_cast<float>(at(i))));
    return largest;
  }
  // Element i becomes f(i), which may ask for this piece's element i.
  template <typename F>
  __device__ void set_all(const F& f) {
#pragma unroll
    for (int p = 0; p < Shape::kPacks; ++p) {
      Accumulator<T> values[Shape::kWidth];
#pragma unroll
      for (int j = 0; j < Shape::kWidth; ++j) values[j] = f(p * Shape::kWidth + j);
      if constexpr (kPairs) {
#pragma unroll
        for (int j = 0; j < Stores::kSize; ++j) {
          const __nv_bfloat162 pair = __floats2bfloat162_rn(values[2 * j], values[2 * j + 1]);
          packs[p].values[j] = reinterpret_cast<const uint32_t&>(pair);
        }
      } else {
        packs[p] = narrow_all<T>(values);
      }
    }
  }
};

// K sums over the lanes of a row; every lane gets them. All threads of the block come here. Calls
// take turns with two places in shared memory: by the next one everybody has read the last.
template <typename S, int K>
class RowSums {
 public:
  __device__ void add_up(S (&values)[K], int lanes) {
    for (int distance = (lanes < 32 ? lanes : 32) / 2; distance > 0; distance /= 2)
      for (S& value : values) value += __shfl_xor_sync(0xffffffffu, value, distance);
    if (lanes <= 32) return;
    __shared__ S parts[2][K][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int k = 0; k < K; ++k)
      if (lane == 0) parts[turn_][k][warp] = values[k];
    __syncthreads();
    for (int k = 0; k < K; ++k)
      values[k] = warp_sum(lane < static_cast<int>(blockDim.x / 32) ? parts[turn_][k][lane] : S{0});
    turn_ ^= 1;
  }

 private:
  int turn_ = 0;
};

inline constexpr int64_t kMostNormCols = 32768;

inline int whole_warps(int64_t threads) { return static_cast<int>((threads + 31) / 32 * 32); }

// Several rows to a block of 256, up to 32 lanes and kPacks for a lane.
template <int kWidth, int kPacks, int kBlocks, typename Body>
void with_rows_in_warps(int64_t packs, Body&& body) {
  const auto lanes = std::min<uint64_t>(32, std::bit_ceil(static_cast<uint64_t>(packs)));
  body.template operator()<RowShape<kWidth, kPacks, 256, kBlocks>>(
      RowThreads{static_cast<int>(lanes), 256});
}
// A row to a block, kPacks for each of up to kMostThreads lanes.
template <int kWidth, int kPacks, int kMostThreads, int kBlocks, typename Body>
void with_row_in_block(int64_t packs, Body&& body) {
  const int lanes = whole_warps((packs + kPacks - 1) / kPacks);
  body.template operator()<RowShape<kWidth, kPacks, kMostThreads, kBlocks>>(
      RowThreads{lanes, lanes});
}

// Calls body.operator()<Shape>(threads) with what fits rows of `cols` elements: one of
// packed.operator()<T>(packs, body) for rows of `packs` times 16 bytes. fp64 and rows that are not
// aligned go one element at a time.
template <typename T, typename Packed, typename Body>
void with_row_shape(int64_t cols, const Packed& packed, Body&& body) {
  if (cols > kMostNormCols)
    throw user_error("a norm on a GPU takes rows of {} elements at most, not {}", kMostNormCols,
                     cols)
        .help("use --device cpu");
  if constexpr (sizeof(T) < 8)
    if (cols % kElements<T> == 0)
      return packed.template choose<kElements<T>>(cols / kElements<T>, body);
  const int lanes = whole_warps((cols + 31) / 32);
  body.template operator()<RowShape<1, 32, 1024, 1>>(RowThreads{lanes, lanes == 32 ? 128 : lanes});
}

}  // namespace tessera
