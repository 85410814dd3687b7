// SPDX-License-Identifier: Apache-2.0
// Products of experts on a GPU's plain units, for any dtype and any sizes: blocks go through tiles
// of 32 by 32, whose terms they add in order.
#pragma once

#include "exec/cuda/grouped_tiles.h"
#include "exec/cuda/kernel_launch.h"

namespace tessera {

inline constexpr int kPlainTile = 32;

// Element (i, j) of a matrix is at i * down + j * across.
template <typename T>
struct PlainMatrix {
  T* data;
  int64_t down, across, expert;  // expert: from one expert's matrix to the next, or 0

  __device__ T* at(int e, int64_t i, int64_t j) const {
    return data + e * expert + i * down + j * across;
  }
};

template <typename T, typename R>
struct PlainExperts {
  GroupedSizes sizes;
  PlainMatrix<const T> a, b;  // [rows of the result, terms] and [terms, columns]
  PlainMatrix<R> c;
};

// to[j][i] = from(row + i, column + j), zeros outside; neighbours in memory are read together.
template <typename T>
__device__ inline void load_plain_tile(Accumulator<T> (&to)[kPlainTile][kPlainTile + 1],
                                       const PlainMatrix<const T>& from, int expert, int64_t row,
                                       int rows, int64_t column, int columns) {
  for (int at = static_cast<int>(threadIdx.x); at < kPlainTile * kPlainTile; at += kThreads) {
    const bool along = from.across == 1;
    const int i = along ? at / kPlainTile : at % kPlainTile;
    const int j = along ? at % kPlainTile : at / kPlainTile;
    const bool inside = i < rows && j < columns;
    to[j][i] = inside ? widen(*from.at(expert, row + i, column + j)) : Accumulator<T>{0};
  }
}

template <bool kByTerms, typename T, typename R>
__global__ void __launch_bounds__(kThreads) plain_experts_kernel(PlainExperts<T, R> p) {
  using A = Accumulator<T>;
  constexpr int kOwn = kPlainTile * kPlainTile / kThreads;
  __shared__ A a[kPlainTile][kPlainTile + 1], b[kPlainTile][kPlainTile + 1];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  TileWalk<kByTerms, kPlainTile, kPlainTile> walk(p.sizes, nullptr);
  GroupedTile tile;
  for (int turn = static_cast<int>(blockIdx.x); walk.find(turn, tile);
       turn += static_cast<int>(gridDim.x)) {
    const int columns = p.sizes.n - tile.column;
    A sums[kOwn] = {};
    for (int term = 0; term < tile.terms; term += kPlainTile) {
      const int left = tile.terms - term, first = tile.term + term;
      __syncthreads();  // the tiles before have been read
      load_plain_tile<T>(a, p.a, tile.expert, tile.row, tile.rows_left, first, left);
      load_plain_tile<T>(b, p.b, tile.expert, first, left, tile.column, columns);
      __syncthreads();
      for (int k = 0; k < kPlainTile; ++k)
#pragma unroll
        for (int i = 0; i < kOwn; ++i) sums[i] += a[k][warp + i * (kThreads / 32)] * b[lane][k];
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int row = warp + i * (kThreads / 32);
      if (row >= tile.rows_left || lane >= columns) continue;
      R* to = p.c.at(tile.expert, tile.row + row, tile.column + lane);
      const A before = p.sizes.accumulate ? static_cast<A>(widen(*to)) : A{0};
      *to = narrow<R>(before + sums[i]);
    }
  }
}

template <bool kByTerms, typename T, typename R>
void run_plain_experts(const CudaCall& call, const PlainExperts<T, R>& experts) {
  constexpr unsigned kBlocks = 1024;  // a few per multiprocessor; they share the tiles
  launch(call, {.blocks = kBlocks, .threads = kThreads}, plain_experts_kernel<kByTerms, T, R>,
         experts);
}

}  // namespace tessera
