// SPDX-License-Identifier: Apache-2.0
// What Hopper's attention gradient knows before it begins: two numbers of each row, padded to whole
// tiles; and, unless every query sees the keys up to its own, where the tokens stand and which
// tiles of keys each tile of queries may see. After it, sums of dq in the order of registers become
// bf16.
#pragma once

#include "exec/cuda/kernel_launch.h"
#include "ops/attention/tensor_tiles_cuda.h"
#include "ops/attention/visible_tiles_cuda.h"

namespace tessera {

inline constexpr int kGradKeys = 128;  // of a block
// Of a step: with larger heads more would not fit the registers.
constexpr int grad_queries(int e) { return e == 64 ? 128 : 64; }
// Elements of a half of a tile's dq, by eights.
constexpr int grad_parts(int e) { return e == 192 ? 12 : 8; }
// Of a half's part: its first element. Heads of 64 are halved by queries.
constexpr int grad_column(int e, int half, int part) {
  if (e == 192 && half == 1) return part < 8 ? 128 + 8 * part : 32 + 8 * part;
  return (e == 64 ? 0 : half * 64) + 8 * part;
}

// The tiles of keys that some query of a tile may see are among first .. last.
struct KeySpan {
  int first, last;
};

// Pieces of the workspace.
struct GradWorkspace {
  int padded, query_tiles, key_tiles;  // tokens and tiles of a sequence
  float* sums;                         // [batch, heads, query tile, half, part, 128, 4]
  int* turns;  // [batch, heads, query tile]: tiles of keys that have been added; a ticket
  int64_t num_turns, sum_bytes;
  float *lse, *delta;  // [batch, heads, padded]
  Place* places;       // of queries, [batch, padded]
  PlaceRange *query_ranges, *key_ranges;
  KeySpan* spans;  // [batch, query tile]
  int64_t bytes;

  GradWorkspace(std::byte* memory, const AttentionSizes& s)
      : padded(static_cast<int>(num_blocks(s.seq, kGradKeys)) * kGradKeys),
        query_tiles(padded / grad_queries(static_cast<int>(s.e))),
        key_tiles(padded / kGradKeys) {
    const int64_t rows = s.batch * s.kv_heads * s.group * padded;
    const int64_t tiles = s.batch * query_tiles;
    sum_bytes = rows * s.e * size_bytes(DType::Fp32);
    num_turns = tiles * s.kv_heads * s.group + 1;
    std::byte* const begin = memory;
    const auto take = [&]<typename T>(T*& piece, int64_t count) {
      piece = reinterpret_cast<T*>(memory);
      memory += num_blocks(count * static_cast<int64_t>(sizeof(T)), 256) * 256;
    };
    take(sums, rows * s.e);
    take(turns, num_turns);
    take(lse, rows);
    take(delta, rows);
    take(places, s.batch * padded);
    take(query_ranges, tiles);
    take(key_ranges, s.batch * key_tiles);
    take(spans, tiles);
    bytes = memory - begin;
  }
};

struct GradRows {
  const Bf16 *o, *dout;
  const float* lse;
  int seq, heads, padded;
  float *lse_out, *delta_out;
};

// Of each row: lse in units of log2(e), +inf where it saw nothing or is not there; and do o^T.
// Eight elements to a lane.
template <int kE>
__global__ void grad_rows_kernel(GradRows r, int64_t rows) {
  constexpr int kLanes = kE / 8;
  const int64_t i = first_index() / kLanes;  // (batch, token, head)
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  if (i >= rows) return;
  const int head = static_cast<int>(i % r.heads), token = static_cast<int>(i / r.heads % r.padded);
  const int64_t b = i / r.heads / r.padded;
  float sum = 0, lse = INFINITY;
  if (token < r.seq) {
    struct alignas(16) Part {
      Bf16 values[8];
    };
    const int64_t row = (b * r.seq + token) * r.heads + head;
    const Part x = reinterpret_cast<const Part*>(r.o + row * kE)[lane];
    const Part y = reinterpret_cast<const Part*>(r.dout + row * kE)[lane];
    for (int j = 0; j < 8; ++j) sum += widen(x.values[j]) * widen(y.values[j]);
    lse = r.lse[row] == -INFINITY ? INFINITY : r.lse[row] * kLog2OfE;
  }
  for (int distance = kLanes / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane != 0) return;
  const int64_t to = (b * r.heads + head) * r.padded + token;
  r.lse_out[to] = lse;
  r.delta_out[to] = sum;
}

// A warp per tile: the range of its places, and of queries the places themselves.
template <bool kQueries>
__global__ void grad_places_kernel(AttentionPlaces at, GradWorkspace w, int tile_tokens) {
  PlaceRange range;
  for (int i = static_cast<int>(threadIdx.x); i < tile_tokens; i += 32) {
    const int token = static_cast<int>(blockIdx.x) * tile_tokens + i;
    const Place place = place_of<kQueries>(at, kQueries ? token * at.group : token);
    if (kQueries) w.places[static_cast<int64_t>(blockIdx.z) * w.padded + token] = place;
    if (token < at.seq)
      range = range.with({place.position, place.position, place.document, place.document});
  }
  range = warp_range(range);
  if (threadIdx.x == 0)
    (kQueries ? w.query_ranges : w.key_ranges)[blockIdx.z * gridDim.x + blockIdx.x] = range;
}

// A warp per tile of queries.
static __global__ void grad_spans_kernel(GradWorkspace w) {
  const int64_t tile = static_cast<int64_t>(blockIdx.z) * w.query_tiles + blockIdx.x;
  const PlaceRange queries = w.query_ranges[tile];
  KeySpan span{INT_MAX, -1};
  for (int n = static_cast<int>(threadIdx.x); n < w.key_tiles; n += 32)
    if (may_see(queries, w.key_ranges[static_cast<int64_t>(blockIdx.z) * w.key_tiles + n]))
      span = {min(span.first, n), n};
  span = {__reduce_min_sync(0xffffffffu, span.first), __reduce_max_sync(0xffffffffu, span.last)};
  if (threadIdx.x == 0) w.spans[tile] = span;
}

// A block per half a tile of queries, in the order of `sums`; spans are null where every tile has
// sums. A thread takes 8 elements of two rows.
template <int kE>
__global__ void grad_result_kernel(GradWorkspace w, const KeySpan* spans, Bf16* dq, int seq,
                                   int heads, float scale) {
  const int64_t at = blockIdx.x;
  const int half = static_cast<int>(at % 2), m = static_cast<int>(at / 2 % w.query_tiles);
  const int head = static_cast<int>(at / 2 / w.query_tiles % heads);
  const int64_t b = at / 2 / w.query_tiles / heads;
  const bool has_sums = !spans || spans[b * w.query_tiles + m].last >= 0;
  constexpr int kParts = grad_parts(kE);
  for (int i = static_cast<int>(threadIdx.x); i < 32 * kParts; i += static_cast<int>(blockDim.x)) {
    const int j = i % kParts, row = i / kParts % 8, warp = i / kParts / 8;
    float4 v[4] = {};
    if (has_sums)
      for (int k = 0; k < 4; ++k)
        v[k] = reinterpret_cast<const float4*>(
            w.sums)[(at * kParts + j) * 128 + warp * 32 + row * 4 + k];
    const int token = m * grad_queries(kE) + (kE == 64 ? half * 64 : 0) + 16 * warp + row;
    const int64_t to = ((b * seq + token) * heads + head) * kE + grad_column(kE, half, j);
    const auto pairs = [&](float x, float y) { return pack(x * scale, y * scale); };
    if (token < seq)
      *reinterpret_cast<uint4*>(dq + to) = {pairs(v[0].x, v[0].y), pairs(v[1].x, v[1].y),
                                            pairs(v[2].x, v[2].y), pairs(v[3].x, v[3].y)};
    if (token + 8 < seq)
      *reinterpret_cast<uint4*>(dq + to + static_cast<int64_t>(8) * heads * kE) = {
          pairs(v[0].z, v[0].w), pairs(v[1].z, v[1].w), pairs(v[2].z, v[2].w),
          pairs(v[3].z, v[3].w)};
  }
}

}  // namespace tessera
