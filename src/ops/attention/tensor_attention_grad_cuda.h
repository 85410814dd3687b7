// SPDX-License-Identifier: Apache-2.0
// The gradients of attention on tensor cores, for bf16 and heads of kE elements. As in the plain
// kernel a block owns rows and sums dq over the keys, or owns keys and sums dk and dv over the
// rows, in order; the tiles that it cannot see are skipped.
#pragma once

#include "ops/attention/tensor_attention_cuda.h"

namespace tessera {

struct TensorAttentionGrad {
  const Bf16 *q, *k, *v, *o, *dout;
  const float* lse;
  Bf16 *dq, *dk, *dv;
  float2* terms;  // by row: lse in units of log2(e), where a row saw nothing +inf; do o^T
  float scale;
};

// A warp per row.
template <int kE>
__global__ void row_terms_kernel(TensorAttentionGrad t, int64_t rows) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  struct alignas(kE / 16) Part {
    Bf16 values[kE / 32];
  };
  const Part x = reinterpret_cast<const Part*>(t.dout + row * kE)[lane];
  const Part y = reinterpret_cast<const Part*>(t.o + row * kE)[lane];
  float sum = 0;
  for (int i = 0; i < kE / 32; ++i) sum += widen(x.values[i]) * widen(y.values[i]);
  sum = warp_sum(sum);
  const float lse = t.lse[row];
  if (lane == 0) t.terms[row] = {lse == -INFINITY ? INFINITY : lse * kLog2OfE, sum};
}

// What a warp knows about its own vectors; terms only for rows.
template <int kM, bool kOwnsRows>
struct OwnVectors {
  Place places[kM][2];
  float2 terms[kM][2];

  __device__ OwnVectors(const AttentionPlaces& at, const TensorAttentionGrad& t, int first) {
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int vector = first + 16 * m + static_cast<int>(threadIdx.x % 32) / 4 + 8 * half;
        places[m][half] = place_of<kOwnsRows>(at, vector);
        terms[m][half] =
            kOwnsRows && vector < at.rows() ? t.terms[at.row_number(vector)] : float2{INFINITY, 0};
      }
  }

  // From scores and do v^T to probabilities and the gradients of scores, of columns `begin` and on
  // of a tile; `inside`: how many it has.
  template <int kN>
  __device__ void weigh(WarpSums<kM, kN>& p, WarpSums<kM, kN>& ds, float scale, bool whole,
                        const Place* other_places, const float2* other_terms, int begin,
                        int inside) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    p.each([&](float& weight, int m, int n, int e) {
      const int column = begin + 8 * n + lane % 4 * 2 + e % 2;
      const float2 term = kOwnsRows ? terms[m][e / 2] : other_terms[column];
      weight = power_of_two(fmaf(weight, scale, -term.x));
      if (!whole) {
        const Place own = places[m][e / 2], other = other_places[column];
        if (column >= inside || !(kOwnsRows ? sees(own, other) : sees(other, own))) weight = 0;
      }
      ds.at[m][n][e] = weight * (ds.at[m][n][e] - term.y);
    });
  }
};

template <int kE, int kM>
__device__ inline void write_vectors(const WarpSums<kM, kE / 8>& sums, float factor, Bf16* to,
                                     const AttentionPlaces& at, bool rows, int first) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int vector = first + 16 * m + lane / 4 + 8 * half;
      if (vector >= (rows ? at.rows() : at.seq)) continue;
      auto* words =
          reinterpret_cast<uint32_t*>(to + (rows ? at.row_at(vector) : at.key_at(vector)));
#pragma unroll
      for (int n = 0; n < kE / 8; ++n)
        words[4 * n + lane % 4] =
            pack(sums.at[m][n][2 * half] * factor, sums.at[m][n][2 * half + 1] * factor);
    }
}

// Registers hold the sums over half a tile at once.
template <int kE, int kM, int kWarps, bool kOwnsRows>
__global__ void __launch_bounds__(32 * kWarps)
    tensor_attention_grad_kernel(AttentionPlaces at, TensorAttentionGrad t, TileRanges ranges) {
  constexpr int kOwn = 16 * kM * kWarps, kHalf = kTile / 2, kN = kHalf / 8;
  using Block = TensorBlock<kE, kOwn, 2>;
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(shared_bytes));
  int* list = reinterpret_cast<int*>(shared_bytes + Block::kList);
  const int first = static_cast<int>(kOwnsRows ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * kOwn;
  const int own = static_cast<int>(threadIdx.x / 32) * 16 * kM;
  const int owned = kOwnsRows ? at.rows() : at.seq, others = kOwnsRows ? at.seq : at.rows();

  const auto own_at = [&](int i) {
    return kOwnsRows ? at.row_at(first + i) : at.key_at(first + i);
  };
  load_tile<kE>(shared, kOwnsRows ? t.q : t.k, kOwn, owned - first, own_at);
  load_tile<kE>(shared + Block::kOwnTensor, kOwnsRows ? t.dout : t.v, kOwn, owned - first, own_at);
  const int count = list_visible_tiles<kOwnsRows>(at, ranges, first, kOwn, list);
  const OwnVectors<kM, kOwnsRows> vectors(at, t, first + own);
  const auto load = [&](int i) {
    const int other = (list[i] & ~kWholeTile) * kTile;
    load_stage<kE, kOwn, 2, !kOwnsRows>(at, shared, i % 2, kOwnsRows ? t.k : t.q,
                                        kOwnsRows ? t.v : t.dout, other);
    const int j = static_cast<int>(threadIdx.x);
    if (!kOwnsRows && j < kTile)
      copy_async<8>(shared + Block::kTerms + i % 2 * Block::kMarks + 8 * j,
                    t.terms + at.row_number(other + j < others ? other + j : 0),
                    other + j < others);
  };

  WarpSums<kM, kE / 8> dx;
  WarpSums<kOwnsRows ? 1 : kM, kE / 8> dy;
  walk(count, load, [&](int i) {
    const uint32_t stage = shared + Block::kStages + i % 2 * Block::kStage;
    const unsigned char* marks = shared_bytes + i % 2 * Block::kMarks;
#pragma unroll 1
    for (int begin = 0; begin < kTile; begin += kHalf) {
      WarpSums<kM, kN> p, ds;
      p.template add_scores<kE>(shared, own, stage, begin);
      ds.template add_scores<kE>(shared + Block::kOwnTensor, own, stage + Block::kTensor, begin);
      vectors.weigh(p, ds, t.scale * kLog2OfE, list[i] & kWholeTile,
                    reinterpret_cast<const Place*>(marks + Block::kPlaces),
                    reinterpret_cast<const float2*>(marks + Block::kTerms), begin,
                    others - (list[i] & ~kWholeTile) * kTile);
      if constexpr (!kOwnsRows) dy.template add_mix<kE, kN>(p, stage + Block::kTensor, begin);
      dx.template add_mix<kE, kN>(ds, stage, begin);
    }
  });
  write_vectors<kE, kM>(dx, t.scale, kOwnsRows ? t.dq : t.dk, at, kOwnsRows, first + own);
  if constexpr (!kOwnsRows) write_vectors<kE, kM>(dy, 1, t.dv, at, false, first + own);
}

template <int kE, int kM, int kWarps, bool kOwnsRows>
void run_grad(const CudaCall& call, const AttentionSizes& s, const TensorAttentionGrad& t,
              const AttentionPlaces& at, const TileRanges& ranges) {
  constexpr int kOwn = 16 * kM * kWarps;
  const auto kernel = tensor_attention_grad_kernel<kE, kM, kWarps, kOwnsRows>;
  const int64_t owned = kOwnsRows ? s.rows() : s.seq, others = kOwnsRows ? s.seq : s.rows();
  const size_t bytes = TensorBlock<kE, kOwn, 2>::bytes(others);
  allow_shared_bytes(kernel, bytes);
  launch(call, tensor_grid(s, owned, kOwn, kWarps, bytes), kernel, at, t, ranges);
}

template <int kE>
void attend_backward_on_tensor_cores(const CudaCall& call) {
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  const AttentionPlaces at(call, 6, s);
  const TileRanges ranges(call.workspace.data(), s);
  const TensorAttentionGrad t{
      .q = call.operand(0).as<Bf16>(),
      .k = call.operand(1).as<Bf16>(),
      .v = call.operand(2).as<Bf16>(),
      .o = call.operand(3).as<Bf16>(),
      .dout = call.operand(5).as<Bf16>(),
      .lse = call.operand(4).as<float>(),
      .dq = call.result(0).as<Bf16>(),
      .dk = call.result(1).as<Bf16>(),
      .dv = call.result(2).as<Bf16>(),
      .terms = reinterpret_cast<float2*>(call.workspace.data() + tile_ranges_bytes(s)),
      .scale = static_cast<float>(attention_scale(call.attributes, s.e))};
  find_tile_ranges(call, s, at, ranges);
  const int64_t rows = s.batch * s.kv_heads * s.rows();
  launch(call, Grid{.blocks = blocks_for(32 * rows, kThreads), .threads = kThreads},
         row_terms_kernel<kE>, t, rows);
  constexpr int kKeysM = kE == 64 ? 2 : 1;
  run_grad<kE, 2, 4, true>(call, s, t, at, ranges);
  run_grad<kE, kKeysM, 8 / kKeysM, false>(call, s, t, at, ranges);
}

}  // namespace tessera
