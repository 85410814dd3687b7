// SPDX-License-Identifier: Apache-2.0
// Gradients of layer_norm (kCentred) and rms_norm in one pass. With xhat = (x - mean) * rstd and g
// = dy * gain: dx = rstd * (g - mean(g) - xhat * mean(g * xhat)), without mean(g) where rows are
// not centred. A block sums dgain and dbias over its rows in registers; its sums are added in
// order.
#pragma once

#include "ir/op_def.h"
#include "ops/fixed_order_sums_cuda.h"
#include "ops/norm/row_registers_cuda.h"

namespace tessera {

inline constexpr int64_t kMostNormBlocks = 528;  // four for each of an H200's multiprocessors

template <typename T>
struct NormGradient {
  const T *x, *gain, *dy;
  const Accumulator<T>*mean, *rstd;  // mean: of centred rows
  T* dx;                             // may lie over x or dy
  int64_t rows, cols;
};

// By a block whose rows end: what each of its rows' lanes summed, added up for every column.
template <typename A, typename Shape>
__device__ void write_block_sums(const A* sums, int64_t cols, int lanes, A* partials) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  A* shared = reinterpret_cast<A*>(shared_bytes);
  const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes, groups = blockDim.x / lanes;
  A* own = groups == 1 ? partials + blockIdx.x * cols : shared + group * cols;
  __syncthreads();  // what an earlier call left there has been read
  for (int i = 0; i < Shape::kSize; ++i) {
    const int64_t c = (i / Shape::kWidth * lanes + lane) * Shape::kWidth + i % Shape::kWidth;
    if (c < cols) own[c] = sums[i];
  }
  if (groups == 1) return;
  __syncthreads();
  for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) {
    A sum = 0;
    for (int i = 0; i < groups; ++i) sum += shared[i * cols + c];
    partials[blockIdx.x * cols + c] = sum;
  }
}

template <bool kCentred, typename T, typename Shape>
__global__ void __launch_bounds__(Shape::kMostThreads)
    norm_grad_kernel(NormGradient<T> r, int lanes, Accumulator<T>* dgain, Accumulator<T>* dbias) {
  using A = Accumulator<T>;
  const int lane = threadIdx.x % lanes, groups = blockDim.x / lanes;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * groups;
  const A inverse_count = A{1} / static_cast<A>(r.cols);
  A gain_sums[Shape::kSize] = {}, bias_sums[kCentred ? Shape::kSize : 1] = {};
  RowPiece<T, Shape> x, dy, next_x, next_dy;
  int64_t row = static_cast<int64_t>(blockIdx.x) * groups + threadIdx.x / lanes;
  next_x.load(r.x + row * r.cols, r.cols, lanes, lane, row < r.rows);
  next_dy.load(r.dy + row * r.cols, r.cols, lanes, lane, row < r.rows);
  // Every thread of a block goes round as often: sums may be over all of them.
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * groups; base < r.rows; base += stride) {
    const bool inside = row < r.rows;
    const A rstd = inside ? r.rstd[row] : A{0}, mean = kCentred && inside ? r.mean[row] : A{0};
    x = next_x;
    dy = next_dy;
    const int64_t next = row + stride;  // is on its way while this row is worked on
    next_x.load(r.x + next * r.cols, r.cols, lanes, lane, next < r.rows);
    next_dy.load(r.dy + next * r.cols, r.cols, lanes, lane, next < r.rows);
    RowPiece<T, Shape> gain;
    gain.load(r.gain, r.cols, lanes, lane, true);
    A g = 0, g_xhat = 0;
#pragma unroll
    for (int i = 0; i < Shape::kSize; ++i) {
      const A d = dy.at(i), xhat = (x.at(i) - mean) * rstd, gained = d * gain.at(i);
      g += gained;
      g_xhat += gained * xhat;
      gain_sums[i] += d * xhat;
      if constexpr (kCentred) bias_sums[i] += d;
    }
    const A mean_g = kCentred ? row_sum(g, lanes) * inverse_count : A{0};
    const A mean_g_xhat = row_sum(g_xhat, lanes) * inverse_count;
#pragma unroll
    for (int i = 0; i < Shape::kSize; ++i)
      dy.set(i, rstd * (dy.at(i) * gain.at(i) - mean_g - (x.at(i) - mean) * rstd * mean_g_xhat));
    if (inside) dy.store(r.dx + row * r.cols, r.cols, lanes, lane);
    row = next;
  }
  write_block_sums<A, Shape>(gain_sums, r.cols, lanes, dgain);
  if (kCentred && dbias) write_block_sums<A, Shape>(bias_sums, r.cols, lanes, dbias);
}

// Of one sum; results 1 and 2 are dgain and dbias.
inline int64_t norm_grad_partials(const OpCall& call) {
  const int64_t cols = call.operand(1).num_elements();
  return std::min(kMostNormBlocks, call.operand(0).num_elements() / cols) * cols;
}
inline int64_t norm_grad_workspace_bytes(const OpCall& call) {
  return static_cast<int64_t>(call.results.size() - 1) * norm_grad_partials(call) *
         size_bytes(accumulator_of(call.operand(0).dtype));
}

template <bool kCentred, typename T>
void run_norm_grad(const CudaCall& call, const NormGradient<T>& rows) {
  using A = Accumulator<T>;
  with_row_shape<T>(rows.cols, [&]<typename Shape>(RowThreads threads) {
    const int64_t blocks =
        std::min<int64_t>(kMostNormBlocks, blocks_for(rows.rows, threads.rows()));
    A* dgain = reinterpret_cast<A*>(call.workspace.data());
    A* dbias = call.result(2) ? dgain + blocks * rows.cols : nullptr;
    const size_t shared_elements = threads.rows() > 1 ? threads.rows() * rows.cols : 0;
    launch(call,
           {.blocks = static_cast<unsigned>(blocks),
            .threads = threads.threads,
            .shared_bytes = shared_elements * sizeof(A)},
           norm_grad_kernel<kCentred, T, Shape>, rows, threads.lanes, dgain, dbias);
    add_partial_rows<A, A>(call, dgain, blocks, rows.cols, call.result(1).as<A>(),
                           call.accumulates(1));
    if (dbias)
      add_partial_rows<A, A>(call, dbias, blocks, rows.cols, call.result(2).as<A>(),
                             call.accumulates(2));
  });
}

}  // namespace tessera
