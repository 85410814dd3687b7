// SPDX-License-Identifier: Apache-2.0
// Logits on a GPU in chunks of rows, and what is computed from them. A block has one row, or a part
// of one; its sums follow the vocabulary's order and the number of threads, which is fixed.
#pragma once

#include "exec/cuda/block_cluster.h"
#include "exec/cuda/elements.h"
#include "exec/cuda/matrix_products.h"
#include "ops/loss/logit_chunks_cuda.h"
#include "ops/loss/mean_loss_cuda.h"

namespace tessera {

// 2^x; a float's is off by two units in the last place.
__device__ inline float power_of_two(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ inline double power_of_two(double x) { return exp2(x); }

// 16 bytes of logits: of bf16, pairs in words, so that halves of registers are never moved about.
template <typename T>
using LogitPack = std::conditional_t<std::is_same_v<T, Bf16>, Elements<uint32_t, 4>, Pack<T>>;

template <typename T>
__device__ inline void widen_all(const LogitPack<T>& pack, Accumulator<T> (&values)[kElements<T>]) {
#pragma unroll
  for (int j = 0; j < kElements<T>; ++j)
    if constexpr (std::is_same_v<T, Bf16>) {
      const uint32_t pair = pack.values[j / 2];
      values[j] = __uint_as_float(j % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
    } else {
      values[j] = widen(pack.values[j]);
    }
}
template <typename T>
__device__ inline Accumulator<T> largest_logit(const LogitPack<T>& pack) {
  if constexpr (std::is_same_v<T, Bf16>)
    return largest_of(reinterpret_cast<const Pack<Bf16>&>(pack));
  else
    return largest_of(pack);
}
// Element `end` and all after it become minus infinity.
template <typename T>
__device__ inline void end_at(LogitPack<T>& pack, int end) {
#pragma unroll
  for (int j = 0; j < kElements<T>; ++j)
    if (j >= end) {
      if constexpr (std::is_same_v<T, Bf16>) {
        uint32_t& pair = pack.values[j / 2];
        pair = j % 2 == 0 ? (pair & 0xffff0000u) | 0xff80u : (pair & 0xffffu) | 0xff800000u;
      } else {
        pack.values[j] = -static_cast<T>(INFINITY);
      }
    }
}

// The packs of a row of logits, or of a part of it, read from memory once: what does not fit into
// shared memory is read again, unless kAllFit. Past the last logit they are minus infinity.
template <typename T, bool kAllFit = false>
class LogitRow {
 public:
  __device__ LogitRow(const T* row, int64_t size, void* kept, int64_t num_kept)
      : row_(reinterpret_cast<const LogitPack<T>*>(row)),
        size_(static_cast<int>(size)),
        kept_(static_cast<LogitPack<T>*>(kept)),
        num_kept_(static_cast<int>(num_kept)) {}

  __device__ int packs() const { return (size_ + kElements<T> - 1) / kElements<T>; }

  // Pack `first` and those every `step` after it.
  template <int N>
  __device__ void read_and_keep(int first, int step, LogitPack<T> (&result)[N]) const {
#pragma unroll
    for (int u = 0; u < N; ++u) result[u] = read(first + u * step);
#pragma unroll
    for (int u = 0; u < N; ++u)
      if (const int i = first + u * step; i < packs() && (kAllFit || i < num_kept_))
        kept_[i] = result[u];
  }
  // By the thread that kept it.
  __device__ LogitPack<T> again(int i) const {
    return kAllFit || i < num_kept_ ? kept_[i] : read(i);
  }

 private:
  __device__ LogitPack<T> read(int i) const {
    LogitPack<T> pack = {};
    if (i < packs()) pack = row_[i];
    if (i >= packs() - 1) end_at<T>(pack, size_ - i * kElements<T>);
    return pack;
  }

  const LogitPack<T>* row_;
  int size_;
  LogitPack<T>* kept_;
  int num_kept_;
};

// softmax(x) = 2^(x log2(e) - shift) / sum. Of no logits: minus infinity and 0.
template <typename S>
struct RowSoftmax {
  static constexpr double kLog2E = 1.4426950408889634074, kLn2 = 0.69314718055994530942;
  S shift, sum;

  __device__ S exponential(S x) const { return power_of_two(fma(x, S(kLog2E), -shift)); }
};

// Of two parts of a row.
template <typename S>
__device__ inline RowSoftmax<S> join(const RowSoftmax<S>& a, const RowSoftmax<S>& b) {
  const S shift = fmax(a.shift, b.shift);
  const S origin = shift == -static_cast<S>(INFINITY) ? S{0} : shift;
  return {shift, a.sum * power_of_two(a.shift - origin) + b.sum * power_of_two(b.shift - origin)};
}

// By a block whose number of threads is a multiple of 32: in one pass, sums shrink when a larger
// logit comes. Every thread gets it.
template <typename T, bool kAllFit>
__device__ RowSoftmax<Accumulator<T>> softmax_of_row(const LogitRow<T, kAllFit>& row) {
  using S = Accumulator<T>;
  constexpr int kAtOnce = 2;
  const RowSoftmax<S> none{-static_cast<S>(INFINITY), 0};
  const int threads = static_cast<int>(blockDim.x), own = static_cast<int>(threadIdx.x);
  RowSoftmax<S> softmax = none;
  for (int i = own; i < row.packs(); i += kAtOnce * threads) {
    LogitPack<T> packs[kAtOnce];
    row.read_and_keep(i, threads, packs);
    S values[kAtOnce][kElements<T>], max = softmax.shift;
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      widen_all<T>(packs[u], values[u]);
      max = fmax(max, largest_logit<T>(packs[u]) * S(RowSoftmax<S>::kLog2E));
    }
    const RowSoftmax<S> next{max == -static_cast<S>(INFINITY) ? S{0} : max, 0};
    S sum = softmax.sum * power_of_two(softmax.shift - next.shift);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      S part = 0;
#pragma unroll
      for (int j = 0; j < kElements<T>; ++j) part += next.exponential(values[u][j]);
      sum += part;
    }
    softmax = {max, sum};
  }
  const auto over_warp = [](RowSoftmax<S> value) {
    for (int distance = 16; distance > 0; distance /= 2)
      value = join(value, {__shfl_xor_sync(0xffffffffu, value.shift, distance),
                           __shfl_xor_sync(0xffffffffu, value.sum, distance)});
    return value;
  };
  __shared__ RowSoftmax<S> warps[32];
  softmax = over_warp(softmax);
  if (own % 32 == 0) warps[own / 32] = softmax;
  __syncthreads();
  return over_warp(own % 32 < threads / 32 ? warps[own % 32] : none);
}

// Of the whole row, from the parts of a cluster's blocks, in their order. No block may end before
// the next sync.
template <typename S>
__device__ RowSoftmax<S> softmax_of_parts(const BlockCluster& cluster, const RowSoftmax<S>& own) {
  __shared__ RowSoftmax<S> part;
  if (threadIdx.x == 0) part = own;
  cluster.sync();
  RowSoftmax<S> whole = cluster.read(part, 0);
  for (int i = 1; i < cluster.blocks(); ++i) whole = join(whole, cluster.read(part, i));
  return whole;
}

// A label outside the vocabulary has no logit: its loss is NaN.
template <typename T>
__device__ double cross_entropy(const RowSoftmax<Accumulator<T>>& softmax, const T* row,
                                int64_t vocab, int32_t label) {
  if (label >= vocab) return static_cast<double>(NAN);
  return log(static_cast<double>(softmax.sum)) +
         static_cast<double>(softmax.shift) * RowSoftmax<double>::kLn2 -
         static_cast<double>(widen(row[label]));
}

// How blocks share a row of logits: `per_row` of them are a cluster, and each has `part_packs` of
// it, the last one perhaps fewer. Shared memory keeps `kept_packs` of those.
struct LogitBlocks {
  int per_row;
  int64_t part_packs, kept_packs;
  bool fits_twice;  // a whole row, into the shared memory of a multiprocessor
};

// With may_cut, a row that fits into the shared memory of a multiprocessor less than twice is cut
// into parts of which three fit, or into eight: one part is read while another one is computed.
template <typename T>
LogitBlocks logit_blocks(const LogitChunks& s, bool may_cut) {
  constexpr int64_t kOtherBytes = 1536;  // of a block: sums, and what CUDA keeps
  int device = 0, for_block = 0, for_all = 0, major = 0;
  check_cuda(cudaGetDevice(&device), "ask for the GPU");
  const auto ask = [&](cudaDeviceAttr attribute, int& answer) {
    check_cuda(cudaDeviceGetAttribute(&answer, attribute, device), "ask for the GPU's properties");
  };
  ask(cudaDevAttrMaxSharedMemoryPerBlockOptin, for_block);
  ask(cudaDevAttrMaxSharedMemoryPerMultiprocessor, for_all);
  ask(cudaDevAttrComputeCapabilityMajor, major);
  const int64_t packs = (s.vocab + Pack<T>::kSize - 1) / Pack<T>::kSize;
  const auto row_bytes = packs * static_cast<int64_t>(sizeof(Pack<T>));
  const bool fits_twice = 2 * (row_bytes + kOtherBytes) <= for_all;
  int64_t per_row = 1;
  if (may_cut && major >= 9 && !fits_twice)
    per_row = std::clamp<int64_t>((row_bytes - 1) / (for_all / 3 - kOtherBytes) + 1, 2, 8);
  const int64_t part = (packs + per_row - 1) / per_row;
  const int64_t most_kept = (for_block - kOtherBytes) / static_cast<int64_t>(sizeof(Pack<T>));
  return {.per_row = static_cast<int>(per_row),
          .part_packs = part,
          .kept_packs = std::min(part, most_kept),
          .fits_twice = fits_twice};
}

template <typename... Parameters, typename... Arguments>
void launch_row_blocks(const CudaCall& call, const LogitBlocks& blocks, int64_t rows, int threads,
                       void (*kernel)(Parameters...), Arguments... arguments) {
  const auto kept_bytes = static_cast<int>(blocks.kept_packs * 16);
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kept_bytes),
             "ask for shared memory");
  launch_clusters(call.stream,
                  {.blocks = static_cast<unsigned>(rows * blocks.per_row),
                   .threads = threads,
                   .shared_bytes = static_cast<size_t>(kept_bytes)},
                  static_cast<unsigned>(blocks.per_row), kernel, arguments...);
}

// One block for each row; the kernel's last argument is how many packs shared memory keeps.
template <typename T, typename... Parameters, typename... Arguments>
void launch_on_rows(const CudaCall& call, const LogitChunks& s, int64_t rows,
                    void (*kernel)(Parameters...), Arguments... arguments) {
  const LogitBlocks blocks = logit_blocks<T>(s, false);
  launch_row_blocks(call, blocks, rows, blocks.fits_twice ? 512 : 1024, kernel, arguments...,
                    blocks.kept_packs);
}

// Calls chunk(first_row, rows, logits) for each chunk, whose logits are enqueued.
template <typename T, typename Chunk>
void for_each_chunk_of_logits(const CudaCall& call, const LogitChunks& s, Chunk&& chunk) {
  const T *x = call.operand(0).as<T>(), *table = call.operand(1).as<T>();
  T* logits = reinterpret_cast<T*>(call.workspace.data() + s.logits);
  for (int64_t first = 0; first < s.rows; first += s.chunk_rows) {
    const int64_t rows = std::min(s.chunk_rows, s.rows - first);
    call.products.enqueue({.m = rows,
                           .n = s.vocab,
                           .k = s.width,
                           .dtype = dtype_of<T>(),
                           .result_dtype = dtype_of<T>(),
                           .a = {x + first * s.width, s.width, false},
                           .b = {table, s.width, true},
                           .c = logits,
                           .c_stride = s.stride},
                          call.stream);
    chunk(first, rows, logits);
  }
}

// From the gradient of a chunk's logits: its rows of dx (result 1) and its share of dtable (result
// 2).
template <typename T>
void logit_gradients_to_results(const CudaCall& call, const LogitChunks& s, int64_t first,
                                int64_t rows, const T* dlogits) {
  const T *x = call.operand(0).as<T>(), *table = call.operand(1).as<T>();
  call.products.enqueue({.m = rows,
                         .n = s.width,
                         .k = s.vocab,
                         .dtype = dtype_of<T>(),
                         .result_dtype = dtype_of<T>(),
                         .a = {dlogits, s.stride, false},
                         .b = {table, s.width, false},
                         .c = call.result(1).as<T>() + first * s.width,
                         .c_stride = s.width},
                        call.stream);
  if (!call.result(2)) return;  // of a frozen table
  call.products.enqueue({.m = s.vocab,
                         .n = s.width,
                         .k = rows,
                         .dtype = dtype_of<T>(),
                         .result_dtype = call.result(2).type->dtype,
                         .a = {dlogits, s.stride, true},
                         .b = {x + first * s.width, s.width, false},
                         .c = call.result(2).data,
                         .c_stride = s.width,
                         .accumulate = first > 0 || call.accumulates(2)},
                        call.stream);
}

}  // namespace tessera
