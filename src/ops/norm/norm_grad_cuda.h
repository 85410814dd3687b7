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

template <typename T>
struct NormGradient {
  const T *x, *gain, *dy;
  const T* more;                     // null, or what is added to dx
  const Accumulator<T>*mean, *rstd;  // mean: of centred rows
  T* dx;                             // may lie over x or dy
  int64_t rows;
  int cols;
  float* largest = nullptr;  // null, or where the largest |dx| goes
};

// By a block whose rows end: what each of its rows' lanes summed, added up for every column.
template <typename A, typename Shape>
__device__ void write_block_sums(const A* sums, int cols, int lanes, A* partials) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  A* shared = reinterpret_cast<A*>(shared_bytes);
  const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes, groups = blockDim.x / lanes;
  A* all = partials + static_cast<int64_t>(blockIdx.x) * cols;
  A* own = groups == 1 ? all : shared + group * cols;
  __syncthreads();  // what an earlier call left there has been read
#pragma unroll
  for (int i = 0; i < Shape::kSize; ++i) {
    const int c = (i / Shape::kWidth * lanes + lane) * Shape::kWidth + i % Shape::kWidth;
    if (c < cols) own[c] = sums[i];
  }
  if (groups == 1) return;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    A sum = 0;
    for (int i = 0; i < groups; ++i) sum += shared[i * cols + c];
    all[c] = sum;
  }
}

template <bool kCentred, bool kMore, typename T, typename Shape>
struct NormGradientRow {
  RowPiece<T, Shape> x, dy, more;
  Accumulator<T> rstd = 0, mean = 0;

  __device__ void load(const NormGradient<T>& r, int64_t row, int lanes, int lane) {
    const bool inside = row < r.rows;
    x.load(r.x + row * r.cols, r.cols, lanes, lane, inside);
    dy.load(r.dy + row * r.cols, r.cols, lanes, lane, inside);
    if constexpr (kMore) more.load(r.more + row * r.cols, r.cols, lanes, lane, inside);
    if (inside) rstd = r.rstd[row];
    if (kCentred && inside) mean = r.mean[row];
  }
};

// The next row comes while this one is computed, where there are registers for it.
template <bool kCentred, bool kMore, typename T, typename Shape>
__global__ void __launch_bounds__(Shape::kMostThreads, Shape::kBlocks)
    norm_grad_kernel(NormGradient<T> r, int lanes, Accumulator<T>* dgain, Accumulator<T>* dbias) {
  using A = Accumulator<T>;
  constexpr bool kAhead = Shape::kPacks <= 2;
  const int lane = threadIdx.x % lanes, groups = blockDim.x / lanes;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * groups;
  const A inverse_count = A{1} / static_cast<A>(r.cols);
  A gain_sums[Shape::kSize] = {}, bias_sums[kCentred ? Shape::kSize : 1] = {};
  RowSums<A, kCentred ? 2 : 1> row_sums;
  NormGradientRow<kCentred, kMore, T, Shape> own, next;
  RowPiece<T, Shape> gain;
  float largest = 0;
  gain.load(r.gain, r.cols, lanes, lane, true);
  int64_t row = static_cast<int64_t>(blockIdx.x) * groups + threadIdx.x / lanes;
  if constexpr (kAhead) next.load(r, row, lanes, lane);
  // Every thread of a block runs the same number of iterations, because sums may be over all of
  // them.
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * groups; base < r.rows; base += stride) {
    if constexpr (kAhead) {
      own = next;
      next.load(r, row + stride, lanes, lane);
    } else {
      own.load(r, row, lanes, lane);
    }
    const A rstd = own.rstd, mean = own.mean;
    A sums[kCentred ? 2 : 1] = {};  // of g * xhat, and of g
#pragma unroll
    for (int i = 0; i < Shape::kSize; ++i) {
      const A d = own.dy.at(i), xhat = (own.x.at(i) - mean) * rstd, g = d * gain.at(i);
      sums[0] += g * xhat;
      gain_sums[i] += d * xhat;
      if constexpr (kCentred) {
        sums[1] += g;
        bias_sums[i] += d;
      }
    }
    row_sums.add_up(sums, lanes);
    const A along = rstd * rstd * sums[0] * inverse_count;
    const A level = kCentred ? rstd * sums[kCentred ? 1 : 0] * inverse_count : A{0};
    own.dy.set_all([&](int i) {
      A dx = own.dy.at(i) * (gain.at(i) * rstd) - (own.x.at(i) - mean) * along;
      if constexpr (kCentred) dx -= level;
      if constexpr (kMore) dx += own.more.at(i);
      return dx;
    });
    if (row < r.rows) own.dy.store(r.dx + row * r.cols, r.cols, lanes, lane);
    if (r.largest && row < r.rows) largest = fmaxf(largest, own.dy.largest_entry());
    row += stride;
  }
  if (r.largest) raise_largest_entry(largest, r.largest);
  write_block_sums<A, Shape>(gain_sums, r.cols, lanes, dgain);
  if (kCentred && dbias) write_block_sums<A, Shape>(bias_sums, r.cols, lanes, dbias);
}

// A thread keeps sums for its columns: few of them, and a row is in a block.
struct NormGradShapes {
  template <int kWidth, typename Body>
  void choose(int64_t packs, Body&& body) const {
    if (packs <= 32) return with_rows_in_warps<kWidth, 1, 3>(packs, body);
    if (packs <= 96) return with_row_in_block<kWidth, 1, 96, 8>(packs, body);
    if (packs <= 256) return with_row_in_block<kWidth, 1, 256, 3>(packs, body);
    if (packs <= 512) return with_row_in_block<kWidth, 1, 512, 2>(packs, body);
    if (packs <= 1024) return with_row_in_block<kWidth, 2, 512, 1>(packs, body);
    with_row_in_block<kWidth, 8, 1024, 1>(packs, body);
  }
};

// Calls body.operator()<Shape>(threads, blocks): as many as are at work at once.
template <typename T, typename Body>
void with_norm_grad_blocks(int64_t rows, int64_t cols, Body&& body) {
  with_row_shape<T>(cols, NormGradShapes{}, [&]<typename Shape>(RowThreads threads) {
    body.template operator()<Shape>(threads, std::min<int64_t>(kMultiprocessors * Shape::kBlocks,
                                                               blocks_for(rows, threads.rows())));
  });
}

// Result 1 is dgain, result 2 of a centred norm dbias; each has a row of sums per block.
inline int64_t norm_grad_workspace_bytes(const OpCall& call, int64_t sums) {
  const int64_t cols = call.operand(1).num_elements();
  int64_t bytes = 0;
  dispatch_float(call.operand(0).dtype, [&]<typename T>() {
    with_norm_grad_blocks<T>(call.operand(0).num_elements() / cols, cols,
                             [&]<typename Shape>(RowThreads, int64_t blocks) {
                               bytes = blocks * cols * sizeof(Accumulator<T>);
                             });
  });
  return bytes * sums;
}

template <bool kCentred, typename T>
void run_norm_grad(const CudaCall& call, const NormGradient<T>& rows) {
  using A = Accumulator<T>;
  with_norm_grad_blocks<T>(
      rows.rows, rows.cols, [&]<typename Shape>(RowThreads threads, int64_t blocks) {
        A* dgain = reinterpret_cast<A*>(call.workspace.data());
        A* dbias = kCentred && call.result(2) ? dgain + blocks * rows.cols : nullptr;
        const size_t shared_elements = threads.rows() > 1 ? threads.rows() * rows.cols : 0;
        launch(call,
               {.blocks = static_cast<unsigned>(blocks),
                .threads = threads.threads,
                .shared_bytes = shared_elements * sizeof(A)},
               rows.more ? norm_grad_kernel<kCentred, true, T, Shape>
                         : norm_grad_kernel<kCentred, false, T, Shape>,
               rows, threads.lanes, dgain, dbias);
        RowTotals<A, A> of_dbias;
        if (dbias) of_dbias = {dbias, call.result(2).as<A>(), call.accumulates(2)};
        add_partial_rows<A, A>(call, blocks, rows.cols,
                               {dgain, call.result(1).as<A>(), call.accumulates(1)}, of_dbias);
      });
}

}  // namespace tessera
