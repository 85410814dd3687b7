// SPDX-License-Identifier: Apache-2.0
// What a block of Hopper's attention gradient does: sizes, places in shared memory, barriers, and
// which tiles of queries it goes through.
#pragma once

#include "exec/cuda/hopper.h"
#include "exec/cuda/hopper_attention_rows.h"

namespace tessera {

inline constexpr int kWarpgroup = 128, kWarpgroups = 2;  // threads; that multiply
inline constexpr int kAdders = 3;                        // threads that add tiles of dq in rotation
inline constexpr int kGradThreads = kWarpgroup * (kWarpgroups + 1);
inline constexpr int kHeadsTogether =
    8;  // whose blocks alternate, so that neighbours do not queue up

struct GradSizes {
  int batch, seq, kv_heads, group;
  float scale;
  bool in_turn;  // else tiles of dq are added to in any order

  __device__ int head_pairs() const { return batch * kv_heads; }
};

// Heads of kHeadSize elements, whose values have kValueSize.
template <int kHeadSize, int kValueSize, bool kPlainCausal>
struct GradConfig {
  static constexpr int kE = kHeadSize, kValueE = kValueSize, kKeys = kGradKeys;
  static constexpr int kQueries = grad_queries(kE);
  static constexpr bool kPlain = kPlainCausal;  // every query sees the keys up to its own
  static constexpr bool kWide = kE > 128;       // few registers and little memory are left
  static constexpr int kStages = 2, kDoutStages = kWide && !kPlain ? 1 : 2;
  static constexpr int kScoreStages = kWide ? 1 : 2, kSumStages = kPlain && !kWide ? 2 : 1;
  static constexpr uint32_t kKBytes = kKeys * kE * 2, kVBytes = kKeys * kValueE * 2;
  static constexpr uint32_t kQBytes = kQueries * kE * 2, kDoutBytes = kQueries * kValueE * 2;
  static constexpr uint32_t kScoreBytes = kQueries * kKeys * 2, kSumBytes = kQueries * kE * 4;
  static constexpr uint32_t kTermBytes = kQueries * 4, kPlaceBytes = kPlain ? 0 : kQueries * 8;
  // Offsets in shared memory.
  static constexpr uint32_t kK = 0, kV = kK + kKBytes, kQ = kV + kVBytes;
  static constexpr uint32_t kDout = kQ + kStages * kQBytes;
  static constexpr uint32_t kScores = kDout + kDoutStages * kDoutBytes;
  static constexpr uint32_t kSums = kScores + kScoreStages * kScoreBytes;
  static constexpr uint32_t kLse = kSums + kSumStages * kSumBytes;
  static constexpr uint32_t kDelta = kLse + kStages * kTermBytes;
  static constexpr uint32_t kPlaces = kDelta + kDoutStages * kTermBytes;
  static constexpr uint32_t kBarriers = kPlaces + kStages * kPlaceBytes;
  static constexpr uint32_t kTicket = kBarriers + 192, kTiles = kTicket + 4, kAdded = kTiles + 4;
  static constexpr uint32_t kList = kAdded + 8;
  static constexpr int kMostBytes = 227 * 1024;
  static_assert(kList <= kMostBytes);

  static constexpr int most_tiles() { return (kMostBytes - static_cast<int>(kList)) / 2; }

  static size_t shared_bytes(int query_tiles) {
    return kList + (kPlain ? 0 : 2 * static_cast<size_t>(query_tiles));
  }
};

// Addresses of barriers.
template <typename C>
struct GradBarriers {
  uint32_t keys, q_full, q_empty, dout_full, dout_empty, sums_full, sums_empty;

  __device__ explicit GradBarriers(uint32_t begin)
      : keys(begin),
        q_full(keys + 8),
        q_empty(q_full + 8 * C::kStages),
        dout_full(q_empty + 8 * C::kStages),
        dout_empty(dout_full + 8 * C::kDoutStages),
        sums_full(dout_empty + 8 * C::kDoutStages),
        sums_empty(sums_full + 8 * C::kSumStages) {}

  __device__ void init() const {
    init_barrier(keys, 1);
    for (int i = 0; i < C::kStages; ++i) {
      init_barrier(q_full + 8 * i, 1);
      init_barrier(q_empty + 8 * i, 4 * kWarpgroups);
    }
    for (int i = 0; i < C::kDoutStages; ++i) {
      init_barrier(dout_full + 8 * i, 1);
      init_barrier(dout_empty + 8 * i, 4 * kWarpgroups);
    }
    for (int i = 0; i < C::kSumStages; ++i) {
      init_barrier(sums_full + 8 * i, kWarpgroups * kWarpgroup);
      init_barrier(sums_empty + 8 * i, 1);
    }
    publish_barriers();
  }
};

// What a block does: `tiles` of queries, one after another.
template <typename C>
struct GradWork {
  int n, pair, b, h;  // tile of keys; batch and head of keys, as one number and as two
  int tiles, last;
  const uint16_t* list;  // by step, with kWhole where no pair is hidden; unless plain causal

  static constexpr int kWhole = 1 << 15;

  // Tickets go through the heads of keys some at a time; among those, the earlier keys first.
  __device__ GradWork(int ticket, const GradSizes& sizes, const GradWorkspace& w) {
    const int together = min(kHeadsTogether, sizes.head_pairs());
    const int round = ticket / (together * w.key_tiles),
              in_round = ticket % (together * w.key_tiles);
    const int heads = min(together, sizes.head_pairs() - round * together);
    n = in_round / heads;
    pair = round * together + in_round % heads;
    b = pair / sizes.kv_heads;
    h = pair % sizes.kv_heads;
    last = w.query_tiles - 1;
    tiles = w.query_tiles - n * C::kKeys / C::kQueries;
    list = nullptr;
  }
  __device__ int tile(int i) const { return C::kPlain ? last - i : list[i] & (kWhole - 1); }
  __device__ bool is_whole(int i) const {
    if constexpr (C::kPlain) return (last - i) * C::kQueries >= (n + 1) * C::kKeys - 1;
    return list[i] & kWhole;
  }
};

// By one warp: the tiles of queries that the block has to add to, the last first; gives their
// number.
template <typename C>
__device__ int list_tiles(const GradWork<C>& work, const GradWorkspace& w, uint16_t* list) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const PlaceRange keys = w.key_ranges[work.b * w.key_tiles + work.n];
  int count = 0;
  for (int base = 0; base < w.query_tiles; base += 32) {
    const int m = w.query_tiles - 1 - base - lane;
    bool listed = false, whole = false;
    if (m >= 0) {
      const KeySpan span = w.spans[work.b * w.query_tiles + m];
      listed = span.first <= work.n && work.n <= span.last;
      // Tokens beyond the last are in no range; a tile with some is not whole.
      whole = (work.n + 1 < w.key_tiles) &&
              all_see_all(w.query_ranges[work.b * w.query_tiles + m], keys);
    }
    const unsigned mask = __ballot_sync(0xffffffffu, listed);
    if (listed)
      list[count + __popc(mask & ((1u << lane) - 1))] =
          static_cast<uint16_t>(m | (whole ? GradWork<C>::kWhole : 0));
    count += __popc(mask);
  }
  return count;
}

}  // namespace tessera
