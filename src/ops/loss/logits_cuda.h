// SPDX-License-Identifier: Apache-2.0
// Logits on a GPU in chunks of rows, and what is computed from them. A block has one row; its sums
// follow the vocabulary's order and the number of threads, which is fixed.
#pragma once

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

// The packs of a row of logits, read from memory once: what does not fit into shared memory is read
// again. Past the vocabulary they are minus infinity.
template <typename T>
class LogitRow {
 public:
  using S = Accumulator<T>;
  __device__ LogitRow(const T* row, int64_t vocab, Pack<T>* kept, int64_t num_kept)
      : row_(reinterpret_cast<const Pack<T>*>(row)),
        vocab_(vocab),
        kept_(kept),
        num_kept_(num_kept) {}

  __device__ int64_t packs() const { return (vocab_ + Pack<T>::kSize - 1) / Pack<T>::kSize; }

  __device__ Pack<T> read_and_keep(int64_t i) const {
    const Pack<T> pack = read(i);
    if (i < num_kept_) kept_[i] = pack;
    return pack;
  }
  // By the thread that kept it.
  __device__ Pack<T> again(int64_t i) const { return i < num_kept_ ? kept_[i] : read(i); }

 private:
  __device__ Pack<T> read(int64_t i) const {
    Pack<T> pack = row_[i];
    if (i == packs() - 1)
      for (int j = 0; j < Pack<T>::kSize; ++j)
        if (i * Pack<T>::kSize + j >= vocab_) pack.values[j] = narrow<T>(-static_cast<S>(INFINITY));
    return pack;
  }

  const Pack<T>* row_;
  int64_t vocab_;
  Pack<T>* kept_;
  int64_t num_kept_;
};

// softmax(x) = 2^(x log2(e) - shift) / sum
template <typename S>
struct RowSoftmax {
  static constexpr double kLog2E = 1.4426950408889634074, kLn2 = 0.69314718055994530942;
  S shift, sum;

  __device__ S exponential(S x) const { return power_of_two(fma(x, S(kLog2E), -shift)); }
};

template <typename T>
__device__ RowSoftmax<Accumulator<T>> softmax_of_row(const LogitRow<T>& row) {
  using S = Accumulator<T>;
  const S lowest = -static_cast<S>(INFINITY);
  S max = lowest;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < row.packs(); i += blockDim.x)
    max = fmax(max, largest_of(row.read_and_keep(i)));
  RowSoftmax<S> softmax{block_max(max, lowest) * S(RowSoftmax<S>::kLog2E), 0};
  S sum = 0;
#pragma unroll 2
  for (int64_t i = threadIdx.x; i < row.packs(); i += blockDim.x) {
    const Pack<T> pack = row.again(i);
    S part = 0;
    for (const T& x : pack.values) part += softmax.exponential(widen(x));
    sum += part;
  }
  softmax.sum = block_sum(sum);
  return softmax;
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

// One block for each row of logits; the kernel's last argument is how many packs shared memory
// keeps. Two rows share a multiprocessor where they fit.
template <typename T, typename... Parameters, typename... Arguments>
void launch_on_rows(const CudaCall& call, const LogitChunks& s, int64_t rows,
                    void (*kernel)(Parameters...), Arguments... arguments) {
  constexpr int kStaticBytes = 2048;  // more than what sums over a block take
  int device = 0, most = 0;
  check_cuda(cudaGetDevice(&device), "ask for the GPU");
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "ask for the GPU's shared memory");
  const int64_t row_bytes = s.stride * static_cast<int64_t>(sizeof(T));
  const auto kept_bytes = static_cast<int>(std::min<int64_t>(row_bytes, most - kStaticBytes));
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kept_bytes),
             "ask for shared memory");
  launch(call,
         {.blocks = static_cast<unsigned>(rows),
          .threads = 2 * kept_bytes < most ? 512 : 1024,
          .shared_bytes = static_cast<size_t>(kept_bytes)},
         kernel, arguments..., static_cast<int64_t>(kept_bytes / sizeof(Pack<T>)));
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
