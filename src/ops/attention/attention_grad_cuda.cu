// SPDX-License-Identifier: Apache-2.0
// p = exp(scores - lse) and ds = p (do v^T - delta) are computed twice: a block that owns rows sums
// dq over the keys, one that owns keys sums dk and dv over the rows, both in order and without
// atomics.
#include "exec/cuda/attention_choice.h"
#include "exec/cuda/causal_attention.h"
#include "exec/cuda/hopper_attention.h"
#include "ops/attention/tensor_attention_grad_cuda.h"
#include "ops/attention/tiles_cuda.h"

namespace tessera {
namespace {

template <typename T>
struct Tensors {
  const T *q, *k, *v, *o, *dout;
  const Accumulator<T>* lse;
  T *dq, *dk, *dv;
  Accumulator<T> scale;
};

// The terms of a row's probabilities.
template <typename S>
struct RowTerms {
  S lse, delta;
};

template <typename T>
__device__ RowTerms<Accumulator<T>> terms_of_row(const AttentionPlaces& at, const Tensors<T>& t,
                                                 int row) {
  using S = Accumulator<T>;
  if (row >= at.rows()) return {-static_cast<S>(INFINITY), 0};
  const int64_t number = at.row_number(row);
  return {t.lse[number],
          dot_by_warp<S>(t.dout + number * at.value_e, t.o + number * at.value_e, at.value_e)};
}

// What a warp's owned vectors sum up: dq of rows; dk and dv of keys. A lane has every 32nd element.
template <typename T, int kChunks, bool kOwnsRows>
struct Sums {
  using S = Accumulator<T>;
  S dx[kOwnedPerWarp][kChunks] = {}, dy[kOwnedPerWarp][kChunks] = {};

  // p and ds: of the lane's vector of the tile.
  __device__ void add(const S* p, const S* ds, const S* tile_x, const S* tile_y, int e,
                      int value_e) {
    const int lane = threadIdx.x % 32;
    for (int j = 0; j < kTileVectors; ++j)
      for (int c = 0; c < kChunks; ++c) {
        const int d = lane + 32 * c;
        const S x = d < e ? tile_x[j * (e + 1) + d] : S{0};
        const S y = !kOwnsRows && d < value_e ? tile_y[j * (value_e + 1) + d] : S{0};
        for (int r = 0; r < kOwnedPerWarp; ++r) {
          dx[r][c] += __shfl_sync(0xffffffffu, ds[r], j) * x;
          if constexpr (!kOwnsRows) dy[r][c] += __shfl_sync(0xffffffffu, p[r], j) * y;
        }
      }
  }

  __device__ void write(const AttentionPlaces& at, const Tensors<T>& t, int first) const {
    for (int r = 0; r < kOwnedPerWarp; ++r) {
      const int mine = first + r;
      if (mine >= (kOwnsRows ? at.rows() : at.seq)) continue;
      const int64_t number = kOwnsRows ? at.row_number(mine) : at.key_number(mine);
      for (int c = 0; c < kChunks; ++c) {
        const int d = static_cast<int>(threadIdx.x % 32) + 32 * c;
        if (d < at.e) (kOwnsRows ? t.dq : t.dk)[number * at.e + d] = narrow<T>(dx[r][c] * t.scale);
        if (!kOwnsRows && d < at.value_e) t.dv[number * at.value_e + d] = narrow<T>(dy[r][c]);
      }
    }
  }
};

template <typename T, int kChunks, bool kOwnsRows>
__global__ void attention_grad_kernel(AttentionPlaces at, Tensors<T> t) {
  using S = Accumulator<T>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ RowTerms<S> tile_terms[kTileVectors];
  const int e = at.e, padded = e + 1, value_e = at.value_e, value_padded = value_e + 1;
  S* own_x = reinterpret_cast<S*>(shared_bytes);
  S* own_y = own_x + kOwned * e;
  S* tile_x = own_y + kOwned * value_e;
  S* tile_y = tile_x + kTileVectors * padded;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int own = warp * kOwnedPerWarp, first = blockIdx.x * kOwned;
  const int others = kOwnsRows ? at.seq : at.rows();
  const T *x_rows = t.q, *y_rows = t.dout, *x_keys = t.k, *y_keys = t.v;

  load_vectors<kOwnsRows>(at, kOwnsRows ? x_rows : x_keys, e, first, kOwned, e, own_x);
  load_vectors<kOwnsRows>(at, kOwnsRows ? y_rows : y_keys, value_e, first, kOwned, value_e, own_y);
  RowTerms<S> own_terms[kOwnedPerWarp] = {};
  if constexpr (kOwnsRows)
    for (int r = 0; r < kOwnedPerWarp; ++r) own_terms[r] = terms_of_row(at, t, first + own + r);
  Sums<T, kChunks, kOwnsRows> sums;
  for (int other = 0; other < others; other += kTileVectors) {
    bool sees[kOwnedPerWarp], any = false;
    for (int r = 0; r < kOwnedPerWarp; ++r) {
      const int mine = first + own + r, theirs = other + lane;
      sees[r] = kOwnsRows ? at.sees(mine, theirs) : at.sees(theirs, mine);
      any = any || sees[r];
    }
    if (!__syncthreads_or(any)) continue;
    load_vectors<!kOwnsRows>(at, kOwnsRows ? x_keys : x_rows, e, other, kTileVectors, padded,
                             tile_x);
    load_vectors<!kOwnsRows>(at, kOwnsRows ? y_keys : y_rows, value_e, other, kTileVectors,
                             value_padded, tile_y);
    if constexpr (!kOwnsRows)
      for (int j = warp; j < kTileVectors; j += kAttentionWarps) {
        const RowTerms<S> terms = terms_of_row(at, t, other + j);
        if (lane == 0) tile_terms[j] = terms;
      }
    __syncthreads();
    S p[kOwnedPerWarp] = {}, ds[kOwnedPerWarp] = {};
    for (int d = 0; d < e; ++d)
      for (int r = 0; r < kOwnedPerWarp; ++r)
        p[r] += own_x[(own + r) * e + d] * tile_x[lane * padded + d];
    for (int d = 0; d < value_e; ++d)
      for (int r = 0; r < kOwnedPerWarp; ++r)
        ds[r] += own_y[(own + r) * value_e + d] * tile_y[lane * value_padded + d];
    for (int r = 0; r < kOwnedPerWarp; ++r) {
      const RowTerms<S> terms = kOwnsRows ? own_terms[r] : tile_terms[lane];
      const bool counts = sees[r] && terms.lse > -static_cast<S>(INFINITY);
      p[r] = counts ? exp(p[r] * t.scale - terms.lse) : S{0};
      ds[r] = counts ? p[r] * (ds[r] - terms.delta) : S{0};
    }
    sums.add(p, ds, tile_x, tile_y, e, value_e);
  }
  sums.write(at, t, first + own);
}

template <typename T>
void attend_backward(const CudaCall& call) {
  using S = Accumulator<T>;
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  const Tensors<T> tensors{.q = call.operand(0).as<T>(),
                           .k = call.operand(1).as<T>(),
                           .v = call.operand(2).as<T>(),
                           .o = call.operand(3).as<T>(),
                           .dout = call.operand(5).as<T>(),
                           .lse = call.operand(4).as<S>(),
                           .dq = call.result(0).as<T>(),
                           .dk = call.result(1).as<T>(),
                           .dv = call.result(2).as<T>(),
                           .scale = static_cast<S>(attention_scale(call.attributes, s.e))};
  const auto elements =
      static_cast<size_t>(kOwned * (s.e + s.value_e) + kTileVectors * (s.e + 1 + s.value_e + 1));
  dispatch_chunks(s, [&]<int kChunks>() {
    const AttentionPlaces places(call, 6, s);
    const auto run = [&](int64_t owned, void (*kernel)(AttentionPlaces, Tensors<T>)) {
      allow_shared_bytes(kernel, elements * sizeof(S));
      launch(call, attention_grid(s, owned, elements * sizeof(S)), kernel, places, tensors);
    };
    run(s.rows(), attention_grad_kernel<T, kChunks, true>);
    run(s.seq, attention_grad_kernel<T, kChunks, false>);
  });
}

}  // namespace

void attention_grad_cuda(const CudaCall& call) {
  const bool wide = call.operand(0).type->dims[4].size == 128;
  run_fastest_attention(call, [&](AttentionPath path) {
    switch (path) {
      case AttentionPath::Hopper:
        return enqueue_hopper_attention_grad(call);
      case AttentionPath::Cudnn:
        return call.attention.enqueue(call);
      case AttentionPath::TensorCores:
        return wide ? attend_backward_on_tensor_cores<128>(call)
                    : attend_backward_on_tensor_cores<64>(call);
      case AttentionPath::PlainCores:
        dispatch_float(call.operand(0).type->dtype,
                       [&]<typename T>() { attend_backward<T>(call); });
    }
  });
}

int64_t attention_grad_cuda_workspace_bytes(const OpCall& call, CausalAttention& attention) {
  return attention_workspace_bytes(call, attention);
}

}  // namespace tessera
