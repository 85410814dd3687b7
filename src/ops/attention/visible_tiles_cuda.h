// SPDX-License-Identifier: Apache-2.0
// Which tiles of keys, or of rows, a block of attention has to process: what a query sees depends
// only on positions and documents, so their ranges rule out whole tiles in advance.
#pragma once

#include <climits>

#include "ops/attention/attention_cuda.h"
#include "ops/attention/tiles_cuda.h"

namespace tessera {

// Position and document of one token, and the ranges of several.
struct Place {
  int position, document;
};
struct alignas(16) PlaceRange {
  int min_position = INT_MAX, max_position = INT_MIN;
  int min_document = INT_MAX, max_document = INT_MIN;

  __device__ PlaceRange with(const PlaceRange& other) const {
    return {min(min_position, other.min_position), max(max_position, other.max_position),
            min(min_document, other.min_document), max(max_document, other.max_document)};
  }
};

__device__ inline bool sees(const Place& query, const Place& key) {
  return key.position <= query.position && key.document == query.document;
}
// Some query may see some key; every query sees every key.
__device__ inline bool may_see(const PlaceRange& queries, const PlaceRange& keys) {
  return keys.min_position <= queries.max_position && keys.min_document <= queries.max_document &&
         queries.min_document <= keys.max_document;
}
__device__ inline bool all_see_all(const PlaceRange& queries, const PlaceRange& keys) {
  return keys.max_position <= queries.min_position && keys.min_document == keys.max_document &&
         queries.min_document == queries.max_document && keys.min_document == queries.min_document;
}

// Beyond the last, a query that sees no key and a key that no query sees.
template <bool kRows>
__device__ inline Place place_of(const AttentionPlaces& at, int vector) {
  const int token = kRows ? vector / at.group : vector;
  if (token >= at.seq) return {kRows ? INT_MIN : INT_MAX, 0};
  const int64_t i = static_cast<int64_t>(blockIdx.z) * at.seq + token;
  return kRows ? Place{at.positions[i], at.documents[i]}
               : Place{at.key_positions[i], at.key_documents[i]};
}

__device__ inline PlaceRange warp_range(PlaceRange range) {
  constexpr unsigned kAll = 0xffffffffu;
  return {__reduce_min_sync(kAll, range.min_position), __reduce_max_sync(kAll, range.max_position),
          __reduce_min_sync(kAll, range.min_document), __reduce_max_sync(kAll, range.max_document)};
}

// By batch and every kTile tokens: the queries' range, then the keys'.
struct TileRanges {
  PlaceRange *queries, *keys;
  int per_batch;

  TileRanges(std::byte* memory, const AttentionSizes& s)
      : queries(reinterpret_cast<PlaceRange*>(memory)),
        keys(queries + s.batch * num_blocks(s.seq, kTile)),
        per_batch(static_cast<int>(num_blocks(s.seq, kTile))) {}

  // Of a tile of rows, or of keys; rows of a tile are of kTile queries at most.
  template <bool kRows>
  __device__ PlaceRange of(const AttentionPlaces& at, int tile) const {
    const int64_t batch = static_cast<int64_t>(blockIdx.z) * per_batch;
    if constexpr (!kRows) return keys[batch + tile];
    const int first = tile * kTile / at.group, last = min(at.rows(), (tile + 1) * kTile) - 1;
    return queries[batch + first / kTile].with(queries[batch + last / at.group / kTile]);
  }
};

// One warp per tile.
template <bool kRows>
__global__ void tile_ranges_kernel(AttentionPlaces at, TileRanges ranges) {
  PlaceRange range;
  for (int i = static_cast<int>(threadIdx.x); i < kTile; i += 32) {
    const int token = static_cast<int>(blockIdx.x) * kTile + i;
    if (token >= at.seq) continue;
    const Place place = place_of<kRows>(at, kRows ? token * at.group : token);
    range = range.with({place.position, place.position, place.document, place.document});
  }
  range = warp_range(range);
  if (threadIdx.x == 0)
    (kRows ? ranges.queries : ranges.keys)[blockIdx.z * ranges.per_batch + blockIdx.x] = range;
}

inline void find_tile_ranges(const CudaCall& call, const AttentionSizes& s,
                             const AttentionPlaces& at, const TileRanges& ranges) {
  const Grid grid{
      .blocks = dim3(static_cast<unsigned>(ranges.per_batch), 1, static_cast<unsigned>(s.batch)),
      .threads = 32};
  launch(call, grid, tile_ranges_kernel<true>, at, ranges);
  launch(call, grid, tile_ranges_kernel<false>, at, ranges);
}

// Added to a tile's number: no pair of it is hidden.
inline constexpr int kWholeTile = 1 << 30;

// Lists the tiles of the others that the block's own vectors, from `first` on, see or are seen by,
// in order; gives their number.
template <bool kOwnsRows>
__device__ inline int list_visible_tiles(const AttentionPlaces& at, const TileRanges& ranges,
                                         int first, int owned, int* list) {
  __shared__ PlaceRange parts[32];
  __shared__ int found;
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int warps = static_cast<int>(blockDim.x / 32), others = kOwnsRows ? at.seq : at.rows();
  const int end = min(first + owned, kOwnsRows ? at.rows() : at.seq);
  PlaceRange own;
  for (int i = first + static_cast<int>(threadIdx.x); i < end; i += static_cast<int>(blockDim.x)) {
    const Place place = place_of<kOwnsRows>(at, i);
    own = own.with({place.position, place.position, place.document, place.document});
  }
  own = warp_range(own);
  if (lane == 0) parts[warp] = own;
  __syncthreads();
  if (warp == 0) {
    own = warp_range(parts[lane < warps ? lane : 0]);
    int listed = 0;
    for (int base = 0; base * kTile < others; base += 32) {
      const int tile = base + lane;
      bool visible = false, whole = false;
      if (tile * kTile < others) {
        const PlaceRange other = ranges.template of<!kOwnsRows>(at, tile);
        visible = kOwnsRows ? may_see(own, other) : may_see(other, own);
        whole = (tile + 1) * kTile <= others &&
                (kOwnsRows ? all_see_all(own, other) : all_see_all(other, own));
      }
      const unsigned mask = __ballot_sync(0xffffffffu, visible);
      if (visible)
        list[listed + __popc(mask & ((1u << lane) - 1))] = tile + (whole ? kWholeTile : 0);
      listed += __popc(mask);
    }
    if (lane == 0) found = listed;
  }
  __syncthreads();
  return found;
}

}  // namespace tessera
