// SPDX-License-Identifier: Apache-2.0
// On Hopper's tensor cores where dtype and sizes permit; else on a GPU's plain units, for any dtype
// and any sizes: blocks go through tiles of 32 by 32, whose terms they add in order.
#include "exec/cuda/grouped_product.h"
#include "exec/cuda/grouped_tiles.h"
#include "exec/cuda/kernel_launch.h"
#include "ops/moe/expert_contraction.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

constexpr int kPlainTile = 32;

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

// Weights that lie as [n, k] are those of which a gradient of the input is taken.
GroupedProduct grouped_product_of(const CudaCall& call, const ExpertContraction& c) {
  return {.form = c.w_outermost ? GroupedForm::Forward : GroupedForm::InputGradient,
          .rows = c.rows,
          .experts = c.experts,
          .k = c.w_outermost ? c.k : c.n,
          .n = c.w_outermost ? c.n : c.k,
          .a = call.operand(0).data,
          .b = call.operand(1).data,
          .c = call.result(0).data,
          .ends = call.operand(2).as<int32_t>()};
}

template <typename T, typename R>
void multiply(const CudaCall& call, const ExpertContraction& c) {
  run_plain_experts<false, T, R>(call, {.sizes = {.ends = call.operand(2).as<int32_t>(),
                                                  .experts = static_cast<int>(c.experts),
                                                  .m = 0,
                                                  .n = static_cast<int>(c.n),
                                                  .k = static_cast<int>(c.k),
                                                  .accumulate = false},
                                        .a = {call.operand(0).as<T>(), c.k, 1, 0},
                                        .b = {call.operand(1).as<T>(), c.w_outermost ? c.n : 1,
                                              c.w_outermost ? 1 : c.k, c.n * c.k},
                                        .c = {call.result(0).as<R>(), c.n, 1, 0}});
}

}  // namespace

void expert_matmul_cuda(const CudaCall& call) {
  const DType own = call.operand(0).type->dtype, wanted = call.result(0).type->dtype;
  const ExpertContraction c = expert_contraction_of(*call.operand(0).type, *call.operand(1).type);
  const GroupedProduct product = grouped_product_of(call, c);
  if (own == DType::Bf16 && wanted == DType::Bf16 && can_group(product))
    return enqueue_grouped(product, call.stream);
  dispatch_float(own, [&]<typename T>() {
    if (wanted == own)
      multiply<T, T>(call, c);
    else
      multiply<T, Accumulator<T>>(call, c);
  });
}

int64_t expert_matmul_cuda_workspace_bytes(const OpCall&, CausalAttention&) { return 0; }

namespace {

GroupedProduct grouped_dw_of(const CudaCall& call) {
  const TensorRef first = call.operand(0), second = call.operand(1), dw = call.result(0);
  return {.form = GroupedForm::WeightGradient,
          .rows = pool_rows(*first.type),
          .experts = first.type->dims[0].size,
          .k = row_size(*first.type),
          .n = row_size(*second.type),
          .a = first.data,
          .b = second.data,
          .c = dw.data,
          .ends = call.operand(2).as<int32_t>(),
          .full_result = dw.type->dtype == DType::Fp32,
          .accumulate = call.accumulates(0)};
}

template <typename T, typename R>
void multiply_dw(const CudaCall& call, const GroupedProduct& p) {
  run_plain_experts<true, T, R>(call, {.sizes = {.ends = p.ends,
                                                 .experts = static_cast<int>(p.experts),
                                                 .m = static_cast<int>(p.k),
                                                 .n = static_cast<int>(p.n),
                                                 .k = 0,
                                                 .accumulate = p.accumulate},
                                       .a = {call.operand(0).as<T>(), 1, p.k, 0},
                                       .b = {call.operand(1).as<T>(), p.n, 1, 0},
                                       .c = {call.result(0).as<R>(), p.n, 1, p.k * p.n}});
}

}  // namespace

void expert_matmul_dw_cuda(const CudaCall& call) {
  const DType own = call.operand(0).type->dtype, wanted = call.result(0).type->dtype;
  const GroupedProduct product = grouped_dw_of(call);
  if (own == DType::Bf16 && can_group(product)) return enqueue_grouped(product, call.stream);
  dispatch_float(own, [&]<typename T>() {
    if (wanted == own)
      multiply_dw<T, T>(call, product);
    else
      multiply_dw<T, Accumulator<T>>(call, product);
  });
}

int64_t expert_matmul_dw_cuda_workspace_bytes(const OpCall&, CausalAttention&) { return 0; }

}  // namespace tessera
