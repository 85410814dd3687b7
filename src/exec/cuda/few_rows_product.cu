// SPDX-License-Identifier: Apache-2.0
// B's rows of n: a block has 64 columns and a part of k, whose sums a cluster of blocks adds up in
// its order. B's rows of k: a warp has four columns, and all of k.
#include <algorithm>

#include "exec/cuda/block_cluster.h"
#include "exec/cuda/elements.h"
#include "exec/cuda/few_rows_product.h"
#include "exec/cuda/tensor_map.h"

namespace tessera {
namespace {

constexpr int kMostRows = 8, kPack = kElements<Bf16>, kWarps = kThreads / 32;
constexpr int kTermsAtOnce = 1024;  // of which A's rows are in shared memory

struct FewRows {
  const Bf16 *a, *b;
  void* c;
  const void *bias, *addend;
  int64_t a_stride, b_stride, c_stride, n, k;
  int rows;
  int64_t terms;  // of a block
};

// A's rows, whose terms [begin, end) are in shared memory; zeros after the last row and term.
template <int M>
struct SharedTerms {
  alignas(16) Bf16 of[M][kTermsAtOnce];

  __device__ void load(const FewRows& p, int64_t begin, int64_t end) {
    __syncthreads();  // what was there has been read
    for (int i = threadIdx.x; i < M * kTermsAtOnce; i += kThreads) {
      const int row = i / kTermsAtOnce, term = i % kTermsAtOnce;
      of[row][term] =
          row < p.rows && begin + term < end ? p.a[row * p.a_stride + begin + term] : Bf16{0};
    }
    __syncthreads();
  }
};

template <typename R>
__device__ inline void write_sum(const FewRows& p, int row, int64_t column, float sum) {
  if (row >= p.rows || column >= p.n) return;
  if (p.bias) sum += widen(static_cast<const R*>(p.bias)[column]);
  const int64_t at = row * p.c_stride + column;
  if (p.addend) sum += widen(static_cast<const R*>(p.addend)[at]);
  static_cast<R*>(p.c)[at] = narrow<R>(sum);
}

// Eight lanes have a row of B's 64 columns, a block 32 rows at a time.
constexpr int kColumns = 64, kLanesOfRow = kColumns / kPack, kRowsAtOnce = kThreads / kLanesOfRow;
constexpr int kAhead = 8;  // loads of a thread that are under way

template <int M>
__device__ inline void add_terms(const FewRows& p, const SharedTerms<M>& x, int64_t begin,
                                 int64_t end, float (&sums)[M][kPack]) {
  const int own = threadIdx.x / kLanesOfRow;
  const int64_t column =
      static_cast<int64_t>(blockIdx.y) * kColumns + threadIdx.x % kLanesOfRow * kPack;
  const auto count = static_cast<int>(min(int64_t{kTermsAtOnce}, end - begin));
  for (int first = own; first < count; first += kAhead * kRowsAtOnce) {
    Pack<Bf16> packs[kAhead] = {};
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int term = first + i * kRowsAtOnce;
      if (term < count && column < p.n)
        packs[i] = load_elements<kPack>(p.b + (begin + term) * p.b_stride + column);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int term = min(first + i * kRowsAtOnce, kTermsAtOnce - 1);  // beyond: times zero
#pragma unroll
      for (int row = 0; row < M; ++row) {
        const float factor = widen(x.of[row][term]);
#pragma unroll
        for (int j = 0; j < kPack; ++j) sums[row][j] += factor * widen(packs[i].values[j]);
      }
    }
  }
}

template <int M, typename R>
__global__ void __launch_bounds__(kThreads) few_rows_kernel(FewRows p) {
  __shared__ SharedTerms<M> x;
  __shared__ float parts[kWarps][M][kColumns];
  float sums[M][kPack] = {};
  const int64_t first = blockIdx.x * p.terms, last = min(first + p.terms, p.k);
  for (int64_t begin = first; begin < last; begin += kTermsAtOnce) {
    x.load(p, begin, last);
    add_terms(p, x, begin, last, sums);
  }
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int row = 0; row < M; ++row)
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      float sum = sums[row][j];
      for (int distance = 16; distance >= kLanesOfRow; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      if (lane < kLanesOfRow) parts[warp][row][lane * kPack + j] = sum;
    }
  __syncthreads();
  const BlockCluster cluster;
  float* const block_sums = &parts[0][0][0];  // a thread reads and writes its own places alone
  for (int i = threadIdx.x; i < M * kColumns; i += kThreads) {
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += parts[w][i / kColumns][i % kColumns];
    block_sums[i] = sum;
  }
  cluster.sync();
  if (cluster.block() == 0)
    for (int i = threadIdx.x; i < M * kColumns; i += kThreads) {
      float sum = 0;
      for (int block = 0; block < cluster.blocks(); ++block)
        sum += cluster.read(block_sums[i], block);
      write_sum<R>(p, i / kColumns, static_cast<int64_t>(blockIdx.y) * kColumns + i % kColumns,
                   sum);
    }
  cluster.sync();  // nobody ends before its sums have been read
}

constexpr int kColumnsOfWarp = 4;

template <int M, typename R>
__global__ void __launch_bounds__(kThreads) few_rows_transposed_kernel(FewRows p) {
  __shared__ SharedTerms<M> x;
  const int lane = threadIdx.x % 32;
  const int64_t column =
      (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32) * kColumnsOfWarp;
  float sums[M][kColumnsOfWarp] = {};
  for (int64_t begin = 0; begin < p.k; begin += kTermsAtOnce) {
    x.load(p, begin, p.k);
#pragma unroll
    for (int term = lane * kPack; term < kTermsAtOnce; term += 32 * kPack) {
      Pack<Bf16> packs[kColumnsOfWarp] = {};
#pragma unroll
      for (int i = 0; i < kColumnsOfWarp; ++i)
        if (begin + term < p.k && column + i < p.n)
          packs[i] = load_elements<kPack>(p.b + (column + i) * p.b_stride + begin + term);
#pragma unroll
      for (int row = 0; row < M; ++row) {
        const Pack<Bf16> factors = load_elements<kPack>(&x.of[row][term]);
#pragma unroll
        for (int i = 0; i < kColumnsOfWarp; ++i)
#pragma unroll
          for (int j = 0; j < kPack; ++j)
            sums[row][i] += widen(factors.values[j]) * widen(packs[i].values[j]);
      }
    }
  }
#pragma unroll
  for (int row = 0; row < M; ++row)
#pragma unroll
    for (int i = 0; i < kColumnsOfWarp; ++i) {
      const float sum = warp_sum(sums[row][i]);
      if (lane == 0) write_sum<R>(p, row, column + i, sum);
    }
}

// Parts of k, so that there are a few blocks for each multiprocessor.
unsigned parts_of(int64_t k, unsigned column_blocks) {
  constexpr unsigned kMost = 8, kWanted = 512;
  constexpr int64_t kLeastTerms = 256;
  unsigned parts = 1;
  while (parts < kMost && parts * column_blocks < kWanted && k / (2 * parts) >= kLeastTerms)
    parts *= 2;
  return parts;
}

template <int M, typename R>
void enqueue_rows(FewRows rows, bool transposed, cudaStream_t stream) {
  if (transposed) {
    const unsigned blocks = blocks_for(rows.n, kWarps * kColumnsOfWarp);
    few_rows_transposed_kernel<M, R><<<blocks, kThreads, 0, stream>>>(rows);
    return check_cuda(cudaGetLastError(), "launch a product of few rows");
  }
  const unsigned column_blocks = blocks_for(rows.n, kColumns);
  const unsigned parts = parts_of(rows.k, column_blocks);
  rows.terms = (rows.k + parts - 1) / parts;
  launch_clusters(stream, {.blocks = dim3(parts, column_blocks), .threads = kThreads}, parts,
                  few_rows_kernel<M, R>, rows);
}

template <typename R>
void enqueue_rows(const FewRows& rows, bool transposed, cudaStream_t stream) {
  if (rows.rows == 1) return enqueue_rows<1, R>(rows, transposed, stream);
  if (rows.rows == 2) return enqueue_rows<2, R>(rows, transposed, stream);
  if (rows.rows <= 4) return enqueue_rows<4, R>(rows, transposed, stream);
  enqueue_rows<kMostRows, R>(rows, transposed, stream);
}

bool is_in_packs(const DeviceMatrix& b, int64_t row) {
  return reinterpret_cast<uintptr_t>(b.data) % sizeof(Pack<Bf16>) == 0 && b.stride % kPack == 0 &&
         row % kPack == 0;
}

}  // namespace

bool has_few_rows(const DeviceProduct& p) {
  constexpr int64_t kLeast = 256, kMostColumns = kColumns * int64_t{65535};
  const bool plain = !p.accumulate && !p.before && p.activation == EpilogueActivation::None &&
                     p.times == 1 && p.addend_times == 1 && p.batch == 1;
  return plain && p.dtype == DType::Bf16 && !p.a.fp8 && !p.b.fp8 && p.m <= kMostRows &&
         (!p.a.transposed || (p.m == 1 && p.a.stride == 1)) && p.n >= kLeast && p.k >= kLeast &&
         p.n <= kMostColumns && is_in_packs(p.b, p.b.transposed ? p.k : p.n) && is_hopper();
}

void enqueue_few_rows(const DeviceProduct& p, cudaStream_t stream) {
  const FewRows rows{.a = static_cast<const Bf16*>(p.a.data),
                     .b = static_cast<const Bf16*>(p.b.data),
                     .c = p.c,
                     .bias = p.bias,
                     .addend = p.addend,
                     .a_stride = p.a.stride,
                     .b_stride = p.b.stride,
                     .c_stride = p.c_stride,
                     .n = p.n,
                     .k = p.k,
                     .rows = static_cast<int>(p.m),
                     .terms = p.k};
  if (p.result_dtype == DType::Fp32) return enqueue_rows<float>(rows, p.b.transposed, stream);
  enqueue_rows<Bf16>(rows, p.b.transposed, stream);
}

}  // namespace tessera
