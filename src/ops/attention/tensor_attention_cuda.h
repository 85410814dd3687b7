// SPDX-License-Identifier: Apache-2.0
// Attention on tensor cores for bf16 and heads of kE elements (FlashAttention-2 by Dao): a block
// owns rows and iterates over the tiles of keys that they see, with a running maximum and sum.
#pragma once

#include "ops/attention/tensor_tiles_cuda.h"
#include "ops/attention/visible_tiles_cuda.h"

namespace tessera {

struct TensorAttention {
  const Bf16 *q, *k, *v;
  Bf16* o;
  float* lse;
  float scale;
};

// Shared memory of a block: own vectors, two stages of tiles, the places of a tile's vectors, the
// list of tiles.
template <int kE, int kOwn, int kOwnTensors>
struct TensorBlock {
  static constexpr uint32_t kTensor = kTile * kE * 2, kOwnTensor = kOwn * kE * 2;
  static constexpr uint32_t kStage = 2 * kTensor;
  static constexpr uint32_t kMarks = kTile * 8;  // places, or terms, of one tile
  static constexpr uint32_t kStages = kOwnTensors * kOwnTensor, kPlaces = kStages + 2 * kStage,
                            kTerms = kPlaces + 2 * kMarks, kList = kTerms + 2 * kMarks;
  static size_t bytes(int64_t others) {
    return kList + static_cast<size_t>((others + kTile - 1) / kTile) * sizeof(int);
  }
};

inline Grid tensor_grid(const AttentionSizes& s, int64_t owned, int per_block, int warps,
                        size_t shared_bytes) {
  return {.blocks = dim3(blocks_for(owned, per_block), static_cast<unsigned>(s.kv_heads),
                         static_cast<unsigned>(s.batch)),
          .threads = 32 * warps,
          .shared_bytes = shared_bytes};
}

// A tile's vectors of two tensors, rows or else keys, and their places.
template <int kE, int kOwn, int kOwnTensors, bool kRows>
__device__ inline void load_stage(const AttentionPlaces& at, uint32_t shared, int stage,
                                  const Bf16* x, const Bf16* y, int first) {
  using Block = TensorBlock<kE, kOwn, kOwnTensors>;
  const uint32_t to = shared + Block::kStages + stage * Block::kStage;
  const int inside = (kRows ? at.rows() : at.seq) - first;
  const auto from = [&](int i) { return kRows ? at.row_at(first + i) : at.key_at(first + i); };
  load_tile<kE>(to, x, kTile, inside, from);
  load_tile<kE>(to + Block::kTensor, y, kTile, inside, from);
  const int i = static_cast<int>(threadIdx.x);
  if (i >= kTile) return;
  const int token = kRows ? (first + i) / at.group : first + i;
  const int64_t place = static_cast<int64_t>(blockIdx.z) * at.seq + (token < at.seq ? token : 0);
  const uint32_t places = shared + Block::kPlaces + stage * Block::kMarks + 8 * i;
  copy_async<4>(places, (kRows ? at.positions : at.key_positions) + place, true);
  copy_async<4>(places + 4, (kRows ? at.documents : at.key_documents) + place, true);
}

// Works on one stage while the next one is loaded.
template <typename Load, typename Work>
__device__ inline void walk(int count, Load load, Work work) {
  if (count > 0) load(0);
  end_copy_group();
  for (int i = 0; i < count; ++i) {
    if (i + 1 < count) load(i + 1);
    end_copy_group();
    wait_for_copies<1>();
    __syncthreads();
    work(i);
    __syncthreads();
  }
  wait_for_copies<0>();
}

// The running state of a warp's rows: scores are scaled by log2(e), for exp2.
template <int kM>
struct RunningRows {
  float max[kM][2], sum[kM][2];

  __device__ RunningRows() {
    for (int m = 0; m < kM; ++m)
      for (int half = 0; half < 2; ++half) max[m][half] = -INFINITY, sum[m][half] = 0;
  }
  // Turns a tile's scores into weights and rescales the previous sums.
  template <int kN, int kOut>
  __device__ void absorb(WarpSums<kM, kN>& scores, WarpSums<kM, kOut>& out, float scale) {
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float largest = max[m][half];
#pragma unroll
        for (int n = 0; n < kN; ++n)
          largest = fmaxf(largest, fmaxf(scores.at[m][n][2 * half], scores.at[m][n][2 * half + 1]));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        const float offset = largest == -INFINITY ? 0.0f : largest * scale;
        const float fade = power_of_two(max[m][half] * scale - offset);
        max[m][half] = largest;
        float sums = 0;
#pragma unroll
        for (int n = 0; n < kN; ++n)
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            float& weight = scores.at[m][n][i];
            weight = power_of_two(fmaf(weight, scale, -offset));
            sums += weight;
          }
        sum[m][half] = sum[m][half] * fade + sums;  // of the lane's columns
#pragma unroll
        for (int n = 0; n < kOut; ++n)
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) out.at[m][n][i] *= fade;
      }
  }
};

template <int kE, int kM>
__device__ inline void write_rows(const AttentionPlaces& at, const TensorAttention& t,
                                  const RunningRows<kM>& rows, const WarpSums<kM, kE / 8>& out,
                                  int first) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = rows.sum[m][half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const int row = first + 16 * m + lane / 4 + 8 * half;
      if (row >= at.rows()) continue;
      const float weight = sum > 0 ? 1 / sum : 0.0f;
      auto* to = reinterpret_cast<uint32_t*>(t.o + at.row_at(row)) + lane % 4;
#pragma unroll
      for (int n = 0; n < kE / 8; ++n)
        to[4 * n] = pack(out.at[m][n][2 * half] * weight, out.at[m][n][2 * half + 1] * weight);
      if (lane % 4 == 0) t.lse[at.row_number(row)] = rows.max[m][half] * t.scale + logf(sum);
    }
}

template <int kE, int kM, int kWarps>
__global__ void __launch_bounds__(32 * kWarps)
    tensor_attention_kernel(AttentionPlaces at, TensorAttention t, TileRanges ranges) {
  constexpr int kOwn = 16 * kM * kWarps, kN = kTile / 8;
  using Block = TensorBlock<kE, kOwn, 1>;
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  const auto shared = static_cast<uint32_t>(__cvta_generic_to_shared(shared_bytes));
  int* list = reinterpret_cast<int*>(shared_bytes + Block::kList);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int own = static_cast<int>(threadIdx.x / 32) * 16 * kM;  // the warp's first of the block's
  // The last rows see the most keys and start first.
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kOwn;

  load_tile<kE>(shared, t.q, kOwn, at.rows() - first, [&](int i) { return at.row_at(first + i); });
  const int count = list_visible_tiles<true>(at, ranges, first, kOwn, list);
  Place places[kM][2];
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      places[m][half] = place_of<true>(at, first + own + 16 * m + lane / 4 + 8 * half);

  WarpSums<kM, kE / 8> out;
  RunningRows<kM> rows;
  const auto load = [&](int i) {
    load_stage<kE, kOwn, 1, false>(at, shared, i % 2, t.k, t.v, (list[i] & ~kWholeTile) * kTile);
  };
  walk(count, load, [&](int i) {
    const uint32_t stage = shared + Block::kStages + i % 2 * Block::kStage;
    WarpSums<kM, kN> scores;
    scores.template add_scores<kE>(shared, own, stage, 0);
    if (!(list[i] & kWholeTile)) {
      const auto* keys =
          reinterpret_cast<const Place*>(shared_bytes + Block::kPlaces + i % 2 * Block::kMarks);
      const int inside = at.seq - list[i] * kTile;
      scores.each([&](float& score, int m, int n, int e) {
        const int column = 8 * n + lane % 4 * 2 + e % 2;
        if (column >= inside || !sees(places[m][e / 2], keys[column])) score = -INFINITY;
      });
    }
    rows.absorb(scores, out, t.scale * kLog2OfE);
    out.template add_mix<kE, kN>(scores, stage + Block::kTensor, 0);
  });
  write_rows<kE, kM>(at, t, rows, out, first + own);
}

template <int kE>
void attend_on_tensor_cores(const CudaCall& call) {
  constexpr int kM = 2, kWarps = 4, kOwn = 16 * kM * kWarps;
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  const AttentionPlaces at(call, 3, s);
  const TileRanges ranges(call.workspace.data(), s);
  const TensorAttention t{.q = call.operand(0).as<Bf16>(),
                          .k = call.operand(1).as<Bf16>(),
                          .v = call.operand(2).as<Bf16>(),
                          .o = call.result(0).as<Bf16>(),
                          .lse = call.result(1).as<float>(),
                          .scale = static_cast<float>(attention_scale(call.attributes, s.e))};
  find_tile_ranges(call, s, at, ranges);
  const auto kernel = tensor_attention_kernel<kE, kM, kWarps>;
  const size_t bytes = TensorBlock<kE, kOwn, 1>::bytes(s.seq);
  allow_shared_bytes(kernel, bytes);
  launch(call, tensor_grid(s, s.rows(), kOwn, kWarps, bytes), kernel, at, t, ranges);
}

}  // namespace tessera
