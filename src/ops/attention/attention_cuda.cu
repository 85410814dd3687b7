// SPDX-License-Identifier: Apache-2.0
// Softmax with a running maximum and sum (Milakov and Gimelshein) over tiles of keys: no full row
// of scores ever exists. Tiles that no row of the block sees are skipped.
#include "exec/cuda/attention_choice.h"
#include "exec/cuda/causal_attention.h"
#include "exec/cuda/hopper_attention.h"
#include "ops/attention/tensor_attention_cuda.h"
#include "ops/attention/tiles_cuda.h"

namespace tessera {
namespace {

template <typename T>
struct Tensors {
  const T *q, *k, *v;
  T* o;
  Accumulator<T>* lse;
  Accumulator<T> scale;
};

// The running state of a row; a lane has every 32nd element of its result.
template <typename S, int kChunks>
struct RunningRow {
  S max = -static_cast<S>(INFINITY), sum = 0, out[kChunks] = {};

  // Adds a tile of scores, one per lane; returns the lane's exp(score - max).
  __device__ S absorb(S score, bool sees) {
    const S lowest = -static_cast<S>(INFINITY);
    const S largest = warp_max(sees ? score : lowest), now = largest > max ? largest : max;
    const S fade = max > lowest ? exp(max - now) : S{0}, p = sees ? exp(score - now) : S{0};
    sum = sum * fade + warp_sum(p);
    max = now;
    for (int c = 0; c < kChunks; ++c) out[c] *= fade;
    return p;
  }
};

template <typename T, int kChunks>
__global__ void attention_kernel(AttentionPlaces at, Tensors<T> t) {
  using S = Accumulator<T>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  const int e = at.e, padded = e + 1, value_e = at.value_e, value_padded = value_e + 1;
  S* queries = reinterpret_cast<S*>(shared_bytes);
  S* keys = queries + kOwned * e;
  S* values = keys + kTileVectors * padded;
  const int lane = threadIdx.x % 32, first = blockIdx.x * kOwned;
  const int own = threadIdx.x / 32 * kOwnedPerWarp;  // of the block's rows, the warp's first

  for (int i = threadIdx.x; i < kOwned * e; i += blockDim.x) {
    const int row = first + i / e;
    queries[i] = row < at.rows() ? widen(t.q[at.row_at(row) + i % e]) * t.scale : S{0};
  }
  RunningRow<S, kChunks> rows[kOwnedPerWarp];
  for (int key = 0; key < at.seq; key += kTileVectors) {
    bool sees[kOwnedPerWarp], any = false;
    for (int r = 0; r < kOwnedPerWarp; ++r) {
      sees[r] = at.sees(first + own + r, key + lane);
      any = any || sees[r];
    }
    if (!__syncthreads_or(any)) continue;
    load_vectors<false>(at, t.k, e, key, kTileVectors, padded, keys);
    load_vectors<false>(at, t.v, value_e, key, kTileVectors, value_padded, values);
    __syncthreads();
    S p[kOwnedPerWarp] = {};
    for (int d = 0; d < e; ++d)
      for (int r = 0; r < kOwnedPerWarp; ++r)
        p[r] += queries[(own + r) * e + d] * keys[lane * padded + d];
    for (int r = 0; r < kOwnedPerWarp; ++r) p[r] = rows[r].absorb(p[r], sees[r]);
    for (int j = 0; j < kTileVectors; ++j)
      for (int c = 0; c < kChunks; ++c) {
        const int d = lane + 32 * c;
        const S value = d < value_e ? values[j * value_padded + d] : S{0};
        for (int r = 0; r < kOwnedPerWarp; ++r)
          rows[r].out[c] += __shfl_sync(0xffffffffu, p[r], j) * value;
      }
  }
  for (int r = 0; r < kOwnedPerWarp; ++r) {
    const int row = first + own + r;
    if (row >= at.rows()) continue;
    const S sum = rows[r].sum, weight = sum > 0 ? 1 / sum : S{0};
    for (int c = 0; c < kChunks; ++c)
      if (const int d = lane + 32 * c; d < value_e)
        t.o[at.row_number(row) * value_e + d] = narrow<T>(rows[r].out[c] * weight);
    if (lane == 0) t.lse[at.row_number(row)] = rows[r].max + log(sum);
  }
}

template <typename T>
void attend(const CudaCall& call) {
  using S = Accumulator<T>;
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  const Tensors<T> tensors{.q = call.operand(0).as<T>(),
                           .k = call.operand(1).as<T>(),
                           .v = call.operand(2).as<T>(),
                           .o = call.result(0).as<T>(),
                           .lse = call.result(1).as<S>(),
                           .scale = static_cast<S>(attention_scale(call.attributes, s.e))};
  const auto elements =
      static_cast<size_t>(kOwned * s.e + kTileVectors * (s.e + 1 + s.value_e + 1));
  dispatch_chunks(s, [&]<int kChunks>() {
    allow_shared_bytes(attention_kernel<T, kChunks>, elements * sizeof(S));
    launch(call, attention_grid(s, s.rows(), elements * sizeof(S)), attention_kernel<T, kChunks>,
           AttentionPlaces(call, 3, s), tensors);
  });
}

}  // namespace

void attention_cuda(const CudaCall& call) {
  const bool wide = call.operand(0).type->dims[4].size == 128;
  run_fastest_attention(call, [&](AttentionPath path) {
    switch (path) {
      case AttentionPath::Hopper:
        return enqueue_hopper_attention(call);
      case AttentionPath::Cudnn:
        return call.attention.enqueue(call);
      case AttentionPath::TensorCores:
        return wide ? attend_on_tensor_cores<128>(call) : attend_on_tensor_cores<64>(call);
      case AttentionPath::PlainCores:
        dispatch_float(call.operand(0).type->dtype, [&]<typename T>() { attend<T>(call); });
    }
  });
}

int64_t attention_cuda_workspace_bytes(const OpCall& call, CausalAttention& attention) {
  return attention_workspace_bytes(call, attention);
}

}  // namespace tessera
