// SPDX-License-Identifier: Apache-2.0
// Shared by the CUDA kernels of attention and its gradient. A block owns a few vectors (rows of
// queries, or keys) of one head and iterates over tiles of the others, a lane per vector of the
// tile; then a lane per element of e. Rows are (query, group) pairs, as in attention.h.
#pragma once

#include "exec/cuda/kernel_launch.h"
#include "ops/attention/attention.h"

namespace tessera {

inline constexpr int kAttentionWarps = 4, kOwnedPerWarp = 4, kTileVectors = 32;
inline constexpr int kOwned = kAttentionWarps * kOwnedPerWarp;

struct AttentionPlaces {
  const int32_t *positions, *documents, *key_positions, *key_documents;
  int seq, kv_heads, group, e, value_e;

  // `first` is the operand `positions`; the others follow it.
  AttentionPlaces(const CudaCall& call, size_t first, const AttentionSizes& s)
      : positions(call.operand(first).as<int32_t>()),
        documents(call.operand(first + 1).as<int32_t>()),
        key_positions(call.operand(first + 2) ? call.operand(first + 2).as<int32_t>() : positions),
        key_documents(call.operand(first + 3) ? call.operand(first + 3).as<int32_t>() : documents),
        seq(static_cast<int>(s.seq)),
        kv_heads(static_cast<int>(s.kv_heads)),
        group(static_cast<int>(s.group)),
        e(static_cast<int>(s.e)),
        value_e(static_cast<int>(s.value_e)) {}

  __device__ int rows() const { return seq * group; }
  // Of the block's batch and head, counted in vectors.
  __device__ int64_t row_number(int row) const {
    const int64_t token = static_cast<int64_t>(blockIdx.z) * seq + row / group;
    return (token * kv_heads + blockIdx.y) * group + row % group;
  }
  // In elements, of queries and keys.
  __device__ int64_t row_at(int row) const { return row_number(row) * e; }
  __device__ int64_t key_number(int key) const {
    return (static_cast<int64_t>(blockIdx.z) * seq + key) * kv_heads + blockIdx.y;
  }
  __device__ int64_t key_at(int key) const { return key_number(key) * e; }
  __device__ bool sees(int row, int key) const {
    if (row >= rows() || key >= seq) return false;
    const int64_t first = static_cast<int64_t>(blockIdx.z) * seq, query = first + row / group;
    return key_positions[first + key] <= positions[query] &&
           key_documents[first + key] == documents[query];
  }
};

// Vectors `first` and on of a tensor with e elements each, rows or else keys, padded to `stride`
// elements; zeros beyond the last.
template <bool kRows, typename T, typename S>
__device__ void load_vectors(const AttentionPlaces& at, const T* from, int e, int first, int count,
                             int stride, S* to) {
  for (int i = threadIdx.x; i < count * e; i += blockDim.x) {
    const int j = i / e, d = i % e, vector = first + j;
    const bool inside = vector < (kRows ? at.rows() : at.seq);
    const int64_t number = kRows ? at.row_number(vector) : at.key_number(vector);
    to[j * stride + d] = inside ? widen(from[number * e + d]) : S{0};
  }
}

// The sum of x[i] y[i] over a row of e elements, by a warp.
template <typename S, typename T>
__device__ S dot_by_warp(const T* x, const T* y, int e) {
  S sum = 0;
  for (int i = static_cast<int>(threadIdx.x % 32); i < e; i += 32) sum += widen(x[i]) * widen(y[i]);
  return warp_sum(sum);
}

inline Grid attention_grid(const AttentionSizes& s, int64_t owned, size_t shared_bytes) {
  return {.blocks = dim3(blocks_for(owned, kOwned), static_cast<unsigned>(s.kv_heads),
                         static_cast<unsigned>(s.batch)),
          .threads = 32 * kAttentionWarps,
          .shared_bytes = shared_bytes};
}

// Calls f.template operator()<chunks>() with the smallest power of two of 32-element chunks that
// hold a head.
template <typename F>
void dispatch_chunks(const AttentionSizes& s, F&& f) {
  const int64_t e = std::max(s.e, s.value_e);
  if (e <= 32) return f.template operator()<1>();
  if (e <= 64) return f.template operator()<2>();
  if (e <= 128) return f.template operator()<4>();
  if (e <= 256) return f.template operator()<8>();
  throw user_error("attention on a GPU takes heads of 256 elements at most, not {}", e)
      .help("use --device cpu");
}

// More than 48 KB must be requested.
template <typename... Parameters>
void allow_shared_bytes(void (*kernel)(Parameters...), size_t bytes) {
  check_cuda(
      cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                           cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "ask for shared memory");
}

}  // namespace tessera
