// SPDX-License-Identifier: Apache-2.0
// layer_norm (kCentred) and rms_norm: a row is read once, and its statistics are computed from
// registers.
#pragma once

#include "ops/norm/row_registers_cuda.h"

namespace tessera {

template <typename T>
struct NormRows {
  const T *x, *gain, *bias;  // bias may be null
  T* y;
  Accumulator<T>*mean, *rstd;  // mean: of centred rows
  int64_t rows;
  int cols;
  Accumulator<T> epsilon;
  float* largest = nullptr;  // null, or where the largest |y| goes
};

// Of the columns that the row has: beyond them x is 0, not its mean.
template <typename T, typename Shape>
__device__ Accumulator<T> squared_distances(const RowPiece<T, Shape>& x, Accumulator<T> mean,
                                            int cols, int lanes, int lane) {
  Accumulator<T> squares = 0;
#pragma unroll
  for (int p = 0; p < Shape::kPacks; ++p) {
    Accumulator<T> own = 0;
#pragma unroll
    for (int j = 0; j < Shape::kWidth; ++j) {
      const Accumulator<T> distance = x.at(p * Shape::kWidth + j) - mean;
      own += distance * distance;
    }
    squares += x.column(p, lanes, lane) < cols ? own : Accumulator<T>{0};
  }
  return squares;
}

// Of short rows a thread has few bytes on their way. Blocks then go over many rows, and the next
// one comes while this one is computed.
template <typename Shape>
inline constexpr bool kNormReadsAhead = Shape::kPacks <= 3;

template <bool kCentred, typename T, typename Shape>
__global__ void __launch_bounds__(Shape::kMostThreads, Shape::kBlocks)
    norm_kernel(NormRows<T> r, int lanes) {
  using A = Accumulator<T>;
  constexpr bool kAhead = kNormReadsAhead<Shape>;
  const int lane = threadIdx.x % lanes, groups = blockDim.x / lanes;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * groups;
  const A inverse_count = A{1} / static_cast<A>(r.cols);
  RowPiece<T, Shape> x, next, gain, bias;
  RowSums<A, 1> sums;
  int64_t row = static_cast<int64_t>(blockIdx.x) * groups + threadIdx.x / lanes;
  const auto load = [&](RowPiece<T, Shape>& piece, int64_t from) {
    piece.load(r.x + from * r.cols, r.cols, lanes, lane, from < r.rows);
  };
  float largest = 0;
  if constexpr (kAhead) load(next, row);
  // Every thread of a block runs the same number of iterations, because sums may be over all of
  // them.
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * groups; base < r.rows; base += stride) {
    if constexpr (kAhead) {
      x = next;
      load(next, row + stride);
    } else {
      load(x, row);
    }
    gain.load(r.gain, r.cols, lanes, lane, true);
    A mean = 0;
    if constexpr (kCentred) {
      A sum[1] = {};
#pragma unroll
      for (int i = 0; i < Shape::kSize; ++i) sum[0] += x.at(i);
      sums.add_up(sum, lanes);
      mean = sum[0] * inverse_count;
    }
    A squares[1] = {squared_distances(x, mean, r.cols, lanes, lane)};
    sums.add_up(squares, lanes);
    const A rstd = 1 / sqrt(squares[0] * inverse_count + r.epsilon);
    if (lane == 0 && row < r.rows) {
      if constexpr (kCentred) r.mean[row] = mean;
      r.rstd[row] = rstd;
    }
    if (kCentred && r.bias) {
      bias.load(r.bias, r.cols, lanes, lane, true);
      x.set_all([&](int i) { return (x.at(i) - mean) * rstd * gain.at(i) + bias.at(i); });
    } else {
      x.set_all([&](int i) { return (x.at(i) - mean) * rstd * gain.at(i); });
    }
    if (row < r.rows) {
      x.store(r.y + row * r.cols, r.cols, lanes, lane);
      if (r.largest) largest = fmaxf(largest, x.largest_entry());
    }
    row += stride;
  }
  if (r.largest) raise_largest_entry(largest, r.largest);
}

// A row stays in a warp as long as its registers leave room for other rows.
struct NormShapes {
  template <int kWidth, typename Body>
  void choose(int64_t packs, Body&& body) const {
    if (packs <= 32) return with_rows_in_warps<kWidth, 1, 4>(packs, body);
    if (packs <= 64) return with_rows_in_warps<kWidth, 2, 3>(packs, body);
    if (packs <= 96) return with_rows_in_warps<kWidth, 3, 3>(packs, body);
    if (packs <= 256) return with_rows_in_warps<kWidth, 8, 2>(packs, body);
    if (packs <= 512) return with_row_in_block<kWidth, 4, 128, 6>(packs, body);
    if (packs <= 1024) return with_row_in_block<kWidth, 4, 256, 3>(packs, body);
    with_row_in_block<kWidth, 8, 1024, 1>(packs, body);
  }
};

template <bool kCentred, typename T>
void run_norm(const CudaCall& call, const NormRows<T>& rows) {
  with_row_shape<T>(rows.cols, NormShapes{}, [&]<typename Shape>(RowThreads threads) {
    int64_t blocks = blocks_for(rows.rows, threads.rows());
    if (kNormReadsAhead<Shape>) blocks = std::min(blocks, kMultiprocessors * Shape::kBlocks);
    launch(call, {.blocks = static_cast<unsigned>(blocks), .threads = threads.threads},
           norm_kernel<kCentred, T, Shape>, rows, threads.lanes);
  });
}

}  // namespace tessera
