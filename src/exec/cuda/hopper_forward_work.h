// SPDX-License-Identifier: Apache-2.0
// What a block of Hopper's attention does: sizes, places in shared memory, barriers, and the items
// of work that it takes one after another. A row is a query of one head; an item's rows are
// consecutive queries, and for each the heads next to each other that share keys.
#pragma once

#include "exec/cuda/hopper.h"
#include "exec/cuda/wgmma.h"
#include "ops/attention/tensor_tiles_cuda.h"
#include "ops/attention/visible_tiles_cuda.h"

namespace tessera {

inline constexpr int kGroupThreads = 128;  // of a warpgroup
inline constexpr int kGroupRows = 64;

struct ForwardSizes {
  int batch, seq, kv_heads, group;
  int pack;        // heads of an item's rows, a power of two
  int pack_shift;  // its logarithm
  int query_tiles, key_tiles;
  int lines, together;  // heads of items; those whose items alternate
  float scale;

  __device__ int items() const { return lines * query_tiles; }
};

inline constexpr int kForwardKeys = 128;  // of a tile

template <int kHeadSize, int kValueSize, bool kPlainCausal>
struct ForwardConfig {
  static constexpr int kE = kHeadSize, kValueE = kValueSize;
  static constexpr bool kPlain = kPlainCausal;  // every query sees the keys up to its own
  static constexpr int kGroups = kE == 64 ? 3 : 2, kRows = kGroups * kGroupRows;
  static constexpr int kKeys = kForwardKeys;
  static constexpr int kStages = kE == 64 ? 3 : 2, kQueryStages = kE == 192 ? 1 : 2;
  // Queries in registers spare shared memory a fifth of its reads, where there are registers left.
  static constexpr bool kHoldsQueries = kE == 128 && kPlain;
  static constexpr int kHeld = kHoldsQueries ? kE / 4 : 1;
  static constexpr int kBlockThreads = (kGroups + 1) * kGroupThreads;
  // What a thread may have, of those that multiply and of those that copy.
  static constexpr int kRegisters = kGroups == 2 ? 232 : 160;
  static constexpr int kCopyRegisters = kGroups == 2 ? 40 : 32;
  static constexpr uint32_t kQueryBytes = kRows * kE * 2, kKeyBytes = kKeys * kE * 2;
  static constexpr uint32_t kValueBytes = kKeys * kValueE * 2;
  static constexpr uint32_t kPlaceBytes = kPlain ? 0 : kKeys * sizeof(Place);
  // Offsets in shared memory.
  static constexpr uint32_t kQ = 0, kK = kQ + kQueryStages * kQueryBytes;
  static constexpr uint32_t kV = kK + kStages * kKeyBytes;
  static constexpr uint32_t kPlaces = kV + kStages * kValueBytes;
  static constexpr uint32_t kTags = kPlaces + kStages * kPlaceBytes;
  static constexpr uint32_t kItems = kTags + 4 * kStages;
  static constexpr uint32_t kBarriers = (kItems + 4 * kQueryStages + 7) / 8 * 8;
  static constexpr uint32_t kSharedBytes = kBarriers + 8 * (2 * kQueryStages + 4 * kStages);
  static_assert(kSharedBytes <= 227 * 1024);
  static_assert(kValueE <= kE);  // results are staged where the queries were
};

// Addresses of barriers.
template <typename C>
struct ForwardBarriers {
  uint32_t q_full, q_empty, k_full, k_empty, v_full, v_empty;

  __device__ explicit ForwardBarriers(uint32_t begin)
      : q_full(begin),
        q_empty(q_full + 8 * C::kQueryStages),
        k_full(q_empty + 8 * C::kQueryStages),
        k_empty(k_full + 8 * C::kStages),
        v_full(k_empty + 8 * C::kStages),
        v_empty(v_full + 8 * C::kStages) {}

  __device__ void init() const {
    for (int i = 0; i < C::kQueryStages; ++i) {
      init_barrier(q_full + 8 * i, 1);
      init_barrier(q_empty + 8 * i, C::kGroups);
    }
    for (int i = 0; i < C::kStages; ++i) {
      init_barrier(k_full + 8 * i, 1);
      init_barrier(k_empty + 8 * i, 4 * C::kGroups);
      init_barrier(v_full + 8 * i, 1);
      init_barrier(v_empty + 8 * i, 4 * C::kGroups);
    }
    publish_barriers();
  }
};

// Pieces of the workspace. Of plain causal the ticket alone is used.
struct ForwardWorkspace {
  int padded;          // tokens of a sequence, in whole tiles
  int* ticket;         // the next item
  Place* places;       // of keys, [batch, padded]
  PlaceRange* ranges;  // of tiles of keys, [batch, key tile]
  int64_t bytes;

  ForwardWorkspace(std::byte* memory, const AttentionSizes& s)
      : padded(static_cast<int>(num_blocks(s.seq, kForwardKeys)) * kForwardKeys) {
    std::byte* const begin = memory;
    const auto take = [&]<typename T>(T*& piece, int64_t count) {
      piece = reinterpret_cast<T*>(memory);
      memory += num_blocks(count * static_cast<int64_t>(sizeof(T)), 256) * 256;
    };
    take(ticket, 1);
    take(places, s.batch * padded);
    take(ranges, s.batch * (padded / kForwardKeys));
    bytes = memory - begin;
  }
};

// A block's work at a time.
template <typename C>
struct ForwardItem {
  int b, kv_head, head;  // the first of the heads
  int token;             // the first

  static constexpr int kNone = -1, kSeesNothing = 1 << 30;  // instead of a ticket, and with one

  // Tickets go through the heads some at a time; among those, the later queries first: they see
  // the most.
  __device__ ForwardItem(int ticket, const ForwardSizes& s) {
    const int round = ticket / (s.together * s.query_tiles);
    const int in_round = ticket % (s.together * s.query_tiles);
    const int lines = min(s.together, s.lines - round * s.together);
    const int line = round * s.together + in_round % lines;
    const int subgroups = s.group >> s.pack_shift;
    const int pair = line / subgroups;
    b = pair / s.kv_heads;
    kv_head = pair % s.kv_heads;
    head = kv_head * s.group + (line % subgroups << s.pack_shift);
    token = (s.query_tiles - 1 - in_round / lines) * (C::kRows >> s.pack_shift);
  }
  // Of plain causal: the last tile of keys that is seen.
  __device__ int last_tile(const ForwardSizes& s) const {
    return min(s.key_tiles - 1, (token + (C::kRows >> s.pack_shift) - 1) / C::kKeys);
  }
};

// What is said of a tile of keys: its number, whether no pair is hidden, and whether it is the
// item's last.
struct TileTag {
  static constexpr int kWhole = 1 << 30, kLast = 1 << 29;
  int bits;

  __device__ int tile() const { return bits & (kLast - 1); }
  __device__ bool is_whole() const { return bits & kWhole; }
  __device__ bool is_last() const { return bits & kLast; }
};

// By a warp: calls f(tag) for the tiles of keys that the item's queries see, the last first; before
// that, begin(whether there are any).
template <typename C, typename Begin, typename F>
__device__ void each_causal_tile(const ForwardItem<C>& item, const ForwardSizes& s, Begin begin,
                                 F f) {
  begin(true);
  for (int n = item.last_tile(s); n >= 0; --n) {
    const bool whole = (n + 1) * C::kKeys - 1 <= item.token;
    f(TileTag{n | (whole ? TileTag::kWhole : 0) | (n == 0 ? TileTag::kLast : 0)});
  }
}
template <typename C, typename Begin, typename F>
__device__ void each_visible_tile(const ForwardItem<C>& item, const ForwardSizes& s,
                                  const ForwardWorkspace& w, const AttentionPlaces& at, Begin begin,
                                  F f) {
  const int lane = static_cast<int>(threadIdx.x % 32), tokens = C::kRows >> s.pack_shift;
  PlaceRange queries;
  for (int i = lane; i < tokens && item.token + i < s.seq; i += 32) {
    const int64_t token = static_cast<int64_t>(item.b) * s.seq + item.token + i;
    const int position = at.positions[token], document = at.documents[token];
    queries = queries.with({position, position, document, document});
  }
  queries = warp_range(queries);
  const PlaceRange* const keys = w.ranges + static_cast<int64_t>(item.b) * s.key_tiles;
  int first = INT_MAX, last = -1;
  for (int n = lane; n < s.key_tiles; n += 32)
    if (may_see(queries, keys[n])) first = min(first, n), last = n;
  first = __reduce_min_sync(0xffffffffu, first);
  last = __reduce_max_sync(0xffffffffu, last);
  begin(last >= 0);
  for (int from = last; from >= first; from -= 32) {
    const int n = from - lane;
    const bool seen = n >= first && may_see(queries, keys[n]);
    // Tokens beyond the last are in no range; a tile with some is not whole.
    const bool whole = seen && (n + 1) * C::kKeys <= s.seq && all_see_all(queries, keys[n]);
    unsigned left = __ballot_sync(0xffffffffu, seen);
    const unsigned wholes = __ballot_sync(0xffffffffu, whole);
    for (; left; left &= left - 1) {
      const int i = __ffs(static_cast<int>(left)) - 1, tile = from - i;
      f(TileTag{tile | (wholes >> i & 1 ? TileTag::kWhole : 0) |
                (tile == first ? TileTag::kLast : 0)});
    }
  }
}

}  // namespace tessera
