// SPDX-License-Identifier: Apache-2.0
// layer_norm (kCentred) and rms_norm: a row is read once, its statistics are taken from registers.
#pragma once

#include "ops/norm/row_registers_cuda.h"

namespace tessera {

template <typename T>
struct NormRows {
  const T *x, *gain, *bias;  // bias may be null
  T* y;
  Accumulator<T>*mean, *rstd;  // mean: of centred rows
  int64_t rows, cols;
  Accumulator<T> epsilon;
};

template <bool kCentred, typename T, typename Shape>
__global__ void __launch_bounds__(Shape::kMostThreads) norm_kernel(NormRows<T> r, int lanes) {
  using A = Accumulator<T>;
  const int lane = threadIdx.x % lanes;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / lanes) + threadIdx.x / lanes;
  const bool inside = row < r.rows;
  const A count = static_cast<A>(r.cols);
  RowPiece<T, Shape> x;
  x.load(r.x + row * r.cols, r.cols, lanes, lane, inside);
  A mean = 0, squares = 0;
  if constexpr (kCentred) {
    for (int i = 0; i < Shape::kSize; ++i) mean += x.at(i);
    mean = row_sum(mean, lanes) / count;
  }
#pragma unroll
  for (int i = 0; i < Shape::kSize; ++i) {
    const int64_t c = (i / Shape::kWidth * lanes + lane) * Shape::kWidth;
    const A distance = x.at(i) - mean;
    if (!kCentred || c < r.cols) squares += distance * distance;
  }
  const A rstd = 1 / sqrt(row_sum(squares, lanes) / count + r.epsilon);
  if (!inside) return;
  if (lane == 0) {
    if constexpr (kCentred) r.mean[row] = mean;
    r.rstd[row] = rstd;
  }
  RowPiece<T, Shape> gain, bias;
  gain.load(r.gain, r.cols, lanes, lane, true);
  bias.load(r.bias, r.cols, lanes, lane, r.bias != nullptr);
#pragma unroll
  for (int i = 0; i < Shape::kSize; ++i)
    x.set(i, (x.at(i) - mean) * rstd * gain.at(i) + bias.at(i));
  x.store(r.y + row * r.cols, r.cols, lanes, lane);
}

template <bool kCentred, typename T>
void run_norm(const CudaCall& call, const NormRows<T>& rows) {
  with_row_shape<T>(rows.cols, [&]<typename Shape>(RowThreads threads) {
    launch(call, {.blocks = blocks_for(rows.rows, threads.rows()), .threads = threads.threads},
           norm_kernel<kCentred, T, Shape>, rows, threads.lanes);
  });
}

}  // namespace tessera
