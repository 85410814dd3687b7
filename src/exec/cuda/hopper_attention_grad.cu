// SPDX-License-Identifier: Apache-2.0
// A block owns 128 keys of a head. It goes through the tiles of queries that see them, the last
// first, and for each through the heads of queries that share the keys. One warp has tiles of q and
// do copied into a ring; two warpgroups, 64 keys each, make probabilities and their gradients, which
// stay in registers as operands of dv and dk, and join their parts of ds in shared memory for dq.
//
// A tile of dq is a sum over blocks. They add to it in the order of their keys, each when the tile's
// turn has come to it, so bits repeat. Blocks take their work by tickets, those of earlier keys
// first, so whoever is waited for has begun; and since the one with earlier keys meets every tile
// earlier, by the time that a tile is ready its turn has mostly come.
#include <type_traits>

#include "exec/cuda/hopper.h"
#include "exec/cuda/hopper_attention.h"
#include "exec/cuda/hopper_attention_rows.h"
#include "exec/cuda/tensor_map.h"
#include "exec/cuda/wgmma.h"

namespace tessera {
namespace {

constexpr int kGroup = 128, kWarpgroups = 2, kBlockThreads = kGroup * (kWarpgroups + 1);
constexpr int kHeadsTogether = 8;  // whose blocks alternate, so that neighbours do not queue up

struct GradSizes {
  int batch, seq, kv_heads, group;
  float scale;

  __device__ int head_pairs() const { return batch * kv_heads; }
};

template <int kHeadSize, bool kPlainCausal>
struct GradConfig {
  static constexpr int kE = kHeadSize, kQueries = grad_queries(kE), kKeys = kGradKeys;
  static constexpr bool kPlain = kPlainCausal;  // every query sees the keys up to its own
  static constexpr int kStages = 2, kSumStages = kPlain ? 2 : 1;
  static constexpr uint32_t kKeyBytes = kKeys * kE * 2, kQueryBytes = kQueries * kE * 2;
  static constexpr uint32_t kScoreBytes = kQueries * kKeys * 2, kHalfSumBytes = 64 * 64 * 4;
  static constexpr uint32_t kTermBytes = kQueries * 4, kPlaceBytes = kPlain ? 0 : kQueries * 8;
  // Offsets in shared memory.
  static constexpr uint32_t kK = 0, kV = kK + kKeyBytes, kQ = kV + kKeyBytes;
  static constexpr uint32_t kDout = kQ + kStages * kQueryBytes;
  static constexpr uint32_t kScores = kDout + kStages * kQueryBytes;
  static constexpr uint32_t kSums = kScores + 2 * kScoreBytes;
  static constexpr uint32_t kLse = kSums + kSumStages * 2 * kHalfSumBytes;
  static constexpr uint32_t kDelta = kLse + kStages * kTermBytes;
  static constexpr uint32_t kPlaces = kDelta + kStages * kTermBytes;
  static constexpr uint32_t kBarriers = kPlaces + kStages * kPlaceBytes;
  static constexpr uint32_t kTicket = kBarriers + 192, kTiles = kTicket + 8, kList = kTiles + 8;
  static constexpr int kMostBytes = 227 * 1024;
  static_assert(kList <= kMostBytes);

  static constexpr int most_tiles() { return (kMostBytes - static_cast<int>(kList)) / 2; }

  static size_t shared_bytes(int query_tiles) {
    return kList + (kPlain ? 0 : 2 * static_cast<size_t>(query_tiles));
  }
};

// Addresses of barriers.
template <typename C>
struct Barriers {
  uint32_t keys, q_full, q_empty, dout_full, dout_empty, sums_full, sums_empty;

  __device__ explicit Barriers(uint32_t begin)
      : keys(begin),
        q_full(keys + 8),
        q_empty(q_full + 8 * C::kStages),
        dout_full(q_empty + 8 * C::kStages),
        dout_empty(dout_full + 8 * C::kStages),
        sums_full(dout_empty + 8 * C::kStages),  // by half of dq, then stage
        sums_empty(sums_full + 16 * C::kSumStages) {}

  __device__ void init() const {
    init_barrier(keys, 1);
    for (int i = 0; i < C::kStages; ++i) {
      init_barrier(q_full + 8 * i, 1);
      init_barrier(q_empty + 8 * i, 4 * kWarpgroups);
      init_barrier(dout_full + 8 * i, 1);
      init_barrier(dout_empty + 8 * i, 4 * kWarpgroups);
    }
    for (int i = 0; i < 2 * C::kSumStages; ++i) {
      init_barrier(sums_full + 8 * i, kGroup);
      init_barrier(sums_empty + 8 * i, 1);
    }
    publish_barriers();
  }
};

// A place in a ring of stages.
template <int kCount>
struct Ring {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void advance() {
    if (++stage == kCount) stage = 0, parity ^= 1;
  }
};

// What a block does: `tiles` of queries, one after another.
template <typename C>
struct Work {
  int n, pair, b, h;  // tile of keys; batch and head of keys, as one number and as two
  int tiles, last;
  const uint16_t* list;  // by step, with kWhole where no pair is hidden; unless plain causal

  static constexpr int kWhole = 1 << 15;

  // Tickets go through the heads of keys some at a time; among those, the earlier keys first.
  __device__ Work(int ticket, const GradSizes& sizes, const GradWorkspace& w) {
    const int together = min(kHeadsTogether, sizes.head_pairs());
    const int round = ticket / (together * w.key_tiles), in_round = ticket % (together * w.key_tiles);
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
__device__ int list_tiles(const Work<C>& work, const GradWorkspace& w, uint16_t* list) {
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
          static_cast<uint16_t>(m | (whole ? Work<C>::kWhole : 0));
    count += __popc(mask);
  }
  return count;
}

struct GradMaps {
  CUtensorMap q, k, v, dout;
};

// By one thread.
template <typename C>
__device__ void copy_tiles(const GradMaps& maps, const GradSizes& sizes, const GradWorkspace& w,
                           const Work<C>& work, const Barriers<C>& at, uint32_t base) {
  arrive_expecting(at.keys, 2 * C::kKeyBytes);
  for (int e = 0; e < C::kE; e += kChunk) {
    copy_box(base + C::kK + e * C::kKeys * 2, maps.k, e, work.h, work.n * C::kKeys, work.b, at.keys);
    copy_box(base + C::kV + e * C::kKeys * 2, maps.v, e, work.h, work.n * C::kKeys, work.b, at.keys);
  }
  Ring<C::kStages> ring;
  const auto copy = [&](const CUtensorMap& map, uint32_t to, int head, int token, uint32_t full) {
    for (int e = 0; e < C::kE; e += kChunk)
      copy_box(base + to + ring.stage * C::kQueryBytes + e * C::kQueries * 2, map, e, head, token,
               work.b, full);
  };
  for (int i = 0; i < work.tiles; ++i) {
    const int token = work.tile(i) * C::kQueries;
    for (int g = 0; g < sizes.group; ++g, ring.advance()) {
      const int head = work.h * sizes.group + g;
      const int row = (work.pair * sizes.group + g) * w.padded + token;
      const uint32_t q_full = at.q_full + 8 * ring.stage, dout_full = at.dout_full + 8 * ring.stage;
      wait_for_phase(at.q_empty + 8 * ring.stage, ring.parity ^ 1);
      arrive_expecting(q_full, C::kQueryBytes + C::kTermBytes + C::kPlaceBytes);
      copy(maps.q, C::kQ, head, token, q_full);
      copy_bytes(base + C::kLse + ring.stage * C::kTermBytes, w.lse + row, C::kTermBytes, q_full);
      if constexpr (!C::kPlain)
        copy_bytes(base + C::kPlaces + ring.stage * C::kPlaceBytes,
                   w.places + work.b * w.padded + token, C::kPlaceBytes, q_full);
      wait_for_phase(at.dout_empty + 8 * ring.stage, ring.parity ^ 1);
      arrive_expecting(dout_full, C::kQueryBytes + C::kTermBytes);
      copy(maps.dout, C::kDout, head, token, dout_full);
      copy_bytes(base + C::kDelta + ring.stage * C::kTermBytes, w.delta + row, C::kTermBytes,
                 dout_full);
    }
  }
}

// By one thread: half of each tile of dq goes to memory when its turn has come.
template <typename C>
__device__ void add_sums(const GradSizes& sizes, const GradWorkspace& w, const Work<C>& work,
                         const Barriers<C>& at, uint32_t base, int half) {
  Ring<C::kSumStages> ring;
  for (int i = 0; i < work.tiles; ++i) {
    const int m = work.tile(i);
    const int before = C::kPlain ? work.n : work.n - w.spans[work.b * w.query_tiles + m].first;
    for (int g = 0; g < sizes.group; ++g, ring.advance()) {
      const int tile = ((work.pair * sizes.group + g) * w.query_tiles + m) * 2 + half;
      const int place = 2 * ring.stage + half;
      int turn;
      do {
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];"
                     : "=r"(turn)
                     : "l"(w.turns + tile)
                     : "memory");
      } while (turn != before);
      wait_for_phase(at.sums_full + 8 * place, ring.parity);
      order_with_copies();
      float* const to = w.sums + static_cast<int64_t>(tile) * (C::kHalfSumBytes / 4);
      const uint32_t from = base + C::kSums + place * C::kHalfSumBytes;
      if (before == 0)
        write_bytes(to, from, C::kHalfSumBytes);
      else
        add_floats(to, from, C::kHalfSumBytes);
      wait_until_read();
      arrive(at.sums_empty + 8 * place);
      wait_until_written();
      order_with_copies();
      asm volatile("fence.acq_rel.gpu;\nred.release.gpu.global.add.s32 [%0], 1;" ::"l"(w.turns + tile)
                   : "memory");
    }
  }
}

// A warpgroup's part: 64 keys of the block.
template <typename C>
struct Multiplier {
  static constexpr Lies kTermsT = Lies::TermsTogether, kVectorsT = Lies::VectorsTogether;
  static constexpr int kScores = C::kQueries / 2;  // of a thread
  static constexpr int kPairs = kScores / 2, kSteps = C::kQueries / kTerms;

  uint32_t base;
  int group, thread, warp, lane;
  int first_key;  // of the thread's two, which are 8 apart
  Place keys[2];  // unless plain causal

  // scores = keys queries^T, of `own` keys and a tile of queries.
  __device__ void multiply_keys(float (&scores)[kScores], uint32_t own, uint32_t queries) const {
#pragma unroll
    for (int k = 0; k < C::kE / kTerms; ++k) {
      const int chunk = k / 4, step = k % 4 * static_cast<int>(kTermsStep<kTermsT>);
      const uint64_t a =
          tile_descriptor(own + chunk * C::kKeys * 128 + group * kChunkBytes) + step;
      const uint64_t b = tile_descriptor(queries + chunk * C::kQueries * 128) + step;
      if (k == 0)
        begin_sums<kTermsT, kTermsT>(scores, a, b);
      else
        add_product<kTermsT, kTermsT>(scores, a, b);
    }
  }
  // sums += weights queries, of a part of the queries' terms.
  template <int kFrom, int kTo>
  __device__ void add_queries(float (&sums)[C::kE / 2], const uint32_t (&weights)[kPairs],
                              uint32_t queries, bool add) const {
#pragma unroll
    for (int k = kFrom; k < kTo; ++k)
      add_product<kVectorsT>(sums, weights + 4 * k,
                             tile_descriptor(queries + k / 4 * kChunkBytes) +
                                 k % 4 * kTermsStep<kVectorsT>,
                             add || k > kFrom);
  }
  // The group's half of dq = ds keys: of 64 queries, or of 64 elements.
  __device__ void multiply_scores(float (&dq)[32], uint32_t ds) const {
    constexpr bool kByQueries = C::kQueries == 128;
    const uint32_t own = ds + (kByQueries ? group : 0) * 2 * kChunkBytes;
    const uint32_t k_at = base + C::kK + (kByQueries ? 0 : group) * C::kKeys * 128;
#pragma unroll
    for (int k = 0; k < C::kKeys / kTerms; ++k) {
      const uint64_t step = k % 4 * kTermsStep<kVectorsT>;
      const uint64_t a = tile_descriptor(own + k / 4 * kChunkBytes) + step;
      const uint64_t b = tile_descriptor(k_at + k / 4 * kChunkBytes) + step;
      if (k == 0)
        begin_sums<kVectorsT, kVectorsT>(dq, a, b);
      else
        add_product<kVectorsT, kVectorsT>(dq, a, b);
    }
  }

  // f(pair j of queries, its two numbers) of terms in shared memory.
  template <typename F>
  __device__ void each_term(uint32_t terms, F f) const {
#pragma unroll
    for (int j = 0; j < C::kQueries / 8; ++j) {
      float x, y;
      asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                   : "=f"(x), "=f"(y)
                   : "r"(terms + 32 * j + lane % 4 * 8));
      f(j, x, y);
    }
  }
  // From scores to probabilities, whose logarithms to base 2 are scale x - lse.
  __device__ void exponentiate(float (&p)[kScores], uint32_t lse, float scale) const {
    each_term(lse, [&](int j, float x, float y) {
      p[4 * j] = power_of_two(fmaf(p[4 * j], scale, -x));
      p[4 * j + 1] = power_of_two(fmaf(p[4 * j + 1], scale, -y));
      p[4 * j + 2] = power_of_two(fmaf(p[4 * j + 2], scale, -x));
      p[4 * j + 3] = power_of_two(fmaf(p[4 * j + 3], scale, -y));
    });
  }
  // Clears what queries from `token` on do not see.
  __device__ void hide(float (&p)[kScores], int token, uint32_t places) const {
#pragma unroll
    for (int j = 0; j < C::kQueries / 8; ++j) {
      Place queries[2];
      if constexpr (!C::kPlain)
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(queries[0].position), "=r"(queries[0].document),
                       "=r"(queries[1].position), "=r"(queries[1].document)
                     : "r"(places + 64 * j + lane % 4 * 16));
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const bool seen = C::kPlain ? first_key + 8 * (e / 2) <= token + 8 * j + lane % 4 * 2 + e % 2
                                    : sees(queries[e % 2], keys[e / 2]);
        if (!seen) p[4 * j + e] = 0;
      }
    }
  }
  // ds = p (dp - delta), in pairs.
  __device__ void weigh(uint32_t (&ds)[kPairs], const float (&p)[kScores],
                        const float (&dp)[kScores], uint32_t delta) const {
    each_term(delta, [&](int j, float x, float y) {
      ds[2 * j] = pack(p[4 * j] * (dp[4 * j] - x), p[4 * j + 1] * (dp[4 * j + 1] - y));
      ds[2 * j + 1] = pack(p[4 * j + 2] * (dp[4 * j + 2] - x), p[4 * j + 3] * (dp[4 * j + 3] - y));
    });
  }
  // To shared memory as products read it: chunks of 64 keys by 64 queries, a key's together.
  __device__ void share(const uint32_t (&ds)[kPairs], uint32_t to) const {
    const int row = 16 * warp + lane % 16;
    to += group * kChunkBytes + row * 128;
#pragma unroll
    for (int j = 0; j < kSteps; ++j) {
      const int piece = (2 * j + lane / 16) % 8;
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       to + j / 4 * 2 * kChunkBytes + (piece ^ row % 8) * 16),
                   "r"(ds[4 * j]), "r"(ds[4 * j + 1]), "r"(ds[4 * j + 2]), "r"(ds[4 * j + 3])
                   : "memory");
    }
    publish_stores();
  }
  __device__ void stage_sums(const float (&dq)[32], int stage) const {
    const uint32_t to = base + C::kSums + (2 * stage + group) * C::kHalfSumBytes + thread * 16;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to + j * 2048), "f"(dq[4 * j]),
                   "f"(dq[4 * j + 1]), "f"(dq[4 * j + 2]), "f"(dq[4 * j + 3])
                   : "memory");
    publish_stores();
  }
  __device__ void release(uint32_t empty) const {
    if (lane == 0) arrive(empty);
  }
};

template <typename C>
struct KeySums {
  float dk[C::kE / 2], dv[C::kE / 2];
};

// One tile of queries of one head. The products of dk are in two parts: the first keeps the tensor
// cores busy while the other warpgroup's ds is waited for, the second while dq is written.
template <typename C>
__device__ inline void add_tile(const Multiplier<C>& m, const Barriers<C>& at, KeySums<C>& sums,
                                const Ring<C::kStages>& ring, Ring<C::kSumStages>& sum_ring,
                                int step, bool whole, int token, float scale) {
  const uint32_t q = m.base + C::kQ + ring.stage * C::kQueryBytes;
  const uint32_t dout = m.base + C::kDout + ring.stage * C::kQueryBytes;
  const uint32_t shared_ds = m.base + C::kScores + step % 2 * C::kScoreBytes;
  constexpr int kSteps = Multiplier<C>::kSteps;
  float p[Multiplier<C>::kScores], dp[Multiplier<C>::kScores], dq[32];
  uint32_t pairs[Multiplier<C>::kPairs], ds[Multiplier<C>::kPairs];
  wait_for_phase(at.q_full + 8 * ring.stage, ring.parity);
  begin_products();
  m.multiply_keys(p, m.base + C::kK, q);
  end_product_group();
  wait_for_phase(at.dout_full + 8 * ring.stage, ring.parity);
  begin_products();
  m.multiply_keys(dp, m.base + C::kV, dout);
  end_product_group();
  wait_for_products<1>();
  m.exponentiate(p, m.base + C::kLse + ring.stage * C::kTermBytes, scale);
  if (!whole) m.hide(p, token, m.base + C::kPlaces + ring.stage * C::kPlaceBytes);
#pragma unroll
  for (int j = 0; j < Multiplier<C>::kPairs; ++j) pairs[j] = pack(p[2 * j], p[2 * j + 1]);
  begin_products();
  m.template add_queries<0, kSteps>(sums.dv, pairs, dout, step > 0);
  end_product_group();
  wait_for_products<1>();
  m.weigh(ds, p, dp, m.base + C::kDelta + ring.stage * C::kTermBytes);
  m.share(ds, shared_ds);
  arrive_at_threads(1 + m.group, kWarpgroups * kGroup);
  begin_products();
  m.template add_queries<0, kSteps / 2>(sums.dk, ds, q, step > 0);
  end_product_group();
  wait_for_threads(2 - m.group, kWarpgroups * kGroup);
  begin_products();
  m.multiply_scores(dq, shared_ds);
  end_product_group();
  m.template add_queries<kSteps / 2, kSteps>(sums.dk, ds, q, true);
  end_product_group();
  wait_for_products<1>();
  m.release(at.dout_empty + 8 * ring.stage);
  const int place = 2 * sum_ring.stage + m.group;
  wait_for_phase(at.sums_empty + 8 * place, sum_ring.parity ^ 1);
  m.stage_sums(dq, sum_ring.stage);
  arrive(at.sums_full + 8 * place);
  sum_ring.advance();
  wait_for_products<0>();
  m.release(at.q_empty + 8 * ring.stage);
}

template <typename C>
__device__ void write_keys(const Multiplier<C>& m, const KeySums<C>& sums, const GradSizes& sizes,
                           const Work<C>& work, Bf16* dk, Bf16* dv) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int key = m.first_key + 8 * half;
    if (key >= sizes.seq) continue;
    const int64_t token = static_cast<int64_t>(work.b) * sizes.seq + key;
    const int64_t to = (token * sizes.kv_heads + work.h) * C::kE + 2 * (m.lane % 4);
#pragma unroll
    for (int j = 0; j < C::kE / 8; ++j) {
      const int i = 4 * j + 2 * half;
      const bool any = work.tiles > 0;
      *reinterpret_cast<uint32_t*>(dk + to + 8 * j) =
          any ? pack(sums.dk[i] * sizes.scale, sums.dk[i + 1] * sizes.scale) : 0;
      *reinterpret_cast<uint32_t*>(dv + to + 8 * j) = any ? pack(sums.dv[i], sums.dv[i + 1]) : 0;
    }
  }
}

template <typename C>
__device__ void multiply_tiles(const AttentionPlaces& places, const GradSizes& sizes,
                               const Work<C>& work, const Barriers<C>& at, uint32_t base, Bf16* dk,
                               Bf16* dv) {
  Multiplier<C> m;
  m.base = base;
  m.group = static_cast<int>(threadIdx.x / kGroup) - 1;
  m.thread = static_cast<int>(threadIdx.x % kGroup);
  m.warp = m.thread / 32;
  m.lane = m.thread % 32;
  m.first_key = work.n * C::kKeys + 64 * m.group + 16 * m.warp + m.lane / 4;
  if constexpr (!C::kPlain)
    for (int i = 0; i < 2; ++i) {
      const int key = m.first_key + 8 * i;
      const int64_t token = static_cast<int64_t>(work.b) * sizes.seq + key;
      m.keys[i] = key < sizes.seq
                      ? Place{places.key_positions[token], places.key_documents[token]}
                      : Place{INT_MAX, 0};
    }
  KeySums<C> sums;
  Ring<C::kStages> ring;
  Ring<C::kSumStages> sum_ring;
  const float scale = sizes.scale * kLog2OfE;
  wait_for_phase(at.keys, 0);
  const int steps = work.tiles * sizes.group;
  for (int step = 0, i = 0, g = 0; step < steps; ++step) {
    add_tile<C>(m, at, sums, ring, sum_ring, step, work.is_whole(i), work.tile(i) * C::kQueries,
                scale);
    ring.advance();
    if (++g == sizes.group) g = 0, ++i;
  }
  write_keys<C>(m, sums, sizes, work, dk, dv);
}

template <typename C>
__global__ void __launch_bounds__(kBlockThreads, 1)
    attention_grad_kernel(const __grid_constant__ GradMaps maps, const AttentionPlaces places,
                          const GradSizes sizes, const GradWorkspace w, Bf16* dk, Bf16* dv) {
  extern __shared__ __align__(1024) std::byte shared[];
  const uint32_t base = shared_address(shared);
  const Barriers<C> at(base + C::kBarriers);
  int& ticket = *reinterpret_cast<int*>(shared + C::kTicket);
  if (threadIdx.x == 0) {
    at.init();
    ticket = atomicAdd(w.turns + w.num_turns - 1, 1);
  }
  __syncthreads();
  Work<C> work(ticket, sizes, w);
  if constexpr (!C::kPlain) {
    auto* const list = reinterpret_cast<uint16_t*>(shared + C::kList);
    int& tiles = *reinterpret_cast<int*>(shared + C::kTiles);
    if (threadIdx.x < 32) {
      const int count = list_tiles<C>(work, w, list);
      if (threadIdx.x == 0) tiles = count;
    }
    __syncthreads();
    work.tiles = tiles;
    work.list = list;
  }
  if (threadIdx.x < kGroup) {
    give_registers<24>();
    if (threadIdx.x == 0) copy_tiles<C>(maps, sizes, w, work, at, base);
    if (threadIdx.x == 32) add_sums<C>(sizes, w, work, at, base, 0);
    if (threadIdx.x == 64) add_sums<C>(sizes, w, work, at, base, 1);
  } else {
    take_registers<240>();
    multiply_tiles<C>(places, sizes, work, at, base, dk, dv);
  }
}

void find_spans(const CudaCall& call, const AttentionSizes& s, const AttentionPlaces& places,
                const GradWorkspace& w) {
  const auto tiles = [&](int count) {
    return Grid{.blocks = dim3(static_cast<unsigned>(count), 1, static_cast<unsigned>(s.batch)),
                .threads = 32};
  };
  launch(call, tiles(w.query_tiles), grad_places_kernel<true>, places, w, w.padded / w.query_tiles);
  launch(call, tiles(w.key_tiles), grad_places_kernel<false>, places, w, kGradKeys);
  launch(call, tiles(w.query_tiles), grad_spans_kernel, w);
}

template <typename C>
void launch_grad(const CudaCall& call, const AttentionSizes& s) {
  const GradWorkspace w(call.workspace.data(), s);
  const AttentionPlaces places(call, 6, s);
  const int64_t heads = s.kv_heads * s.group;
  const GradSizes sizes{static_cast<int>(s.batch), static_cast<int>(s.seq),
                        static_cast<int>(s.kv_heads), static_cast<int>(s.group),
                        static_cast<float>(attention_scale(call.attributes, s.e))};
  check_cuda(cudaMemsetAsync(w.turns, 0, static_cast<size_t>(w.num_turns) * sizeof(int), call.stream),
             "clear the turns of attention's gradient");
  const GradRows rows{call.operand(3).as<Bf16>(), call.operand(5).as<Bf16>(),
                      call.operand(4).as<float>(), sizes.seq, static_cast<int>(heads), w.padded,
                      w.lse, w.delta};
  const int64_t num_rows = s.batch * heads * w.padded;
  launch(call, Grid{.blocks = blocks_for(num_rows * (C::kE / 8), kThreads), .threads = kThreads},
         grad_rows_kernel<C::kE>, rows, num_rows);
  if constexpr (!C::kPlain) find_spans(call, s, places, w);
  const auto map = [&](size_t operand, int64_t of_heads, int tokens) {
    return make_tensor_map(call.operand(operand).data, {s.e, of_heads, s.seq, s.batch}, 2, tokens);
  };
  const GradMaps maps{map(0, heads, C::kQueries), map(1, s.kv_heads, C::kKeys),
                      map(2, s.kv_heads, C::kKeys), map(5, heads, C::kQueries)};
  const auto kernel = attention_grad_kernel<C>;
  const size_t bytes = C::shared_bytes(w.query_tiles);
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "allow shared memory");
  kernel<<<static_cast<unsigned>(s.batch * s.kv_heads * w.key_tiles), kBlockThreads, bytes,
           call.stream>>>(maps, places, sizes, w, call.result(1).as<Bf16>(),
                          call.result(2).as<Bf16>());
  check_cuda(cudaGetLastError(), "launch attention's gradient");
  const auto halves = static_cast<unsigned>(2 * s.batch * heads * w.query_tiles);
  launch(call, Grid{.blocks = halves, .threads = kGroup}, grad_result_kernel<C::kE>, w,
         C::kPlain ? nullptr : w.spans, call.result(0).as<Bf16>(), sizes.seq,
         static_cast<int>(heads), sizes.scale);
}

}  // namespace

bool hopper_takes_attention_grad(const TensorType& q) {
  const AttentionSizes s(q);
  const int64_t tiles = num_blocks(s.seq, kGradKeys) * kGradKeys / grad_queries(static_cast<int>(s.e));
  const int64_t rows = s.batch * s.kv_heads * s.group * num_blocks(s.seq, kGradKeys) * kGradKeys;
  return q.dtype == DType::Bf16 && (s.e == 64 || s.e == 128) && rows < (int64_t{1} << 30) &&
         tiles <= GradConfig<64, false>::most_tiles() && tiles <= GradConfig<128, false>::most_tiles() &&
         is_hopper();
}

int64_t hopper_attention_grad_bytes(const AttentionSizes& sizes) {
  return GradWorkspace(nullptr, sizes).bytes;
}

void enqueue_hopper_attention_grad(const CudaCall& call) {
  const AttentionSizes s(*call.operand(0).type);
  TESSERA_CHECK(static_cast<int64_t>(call.workspace.size()) >= hopper_attention_grad_bytes(s));
  if (call.plain_causal)
    return s.e == 64 ? launch_grad<GradConfig<64, true>>(call, s)
                     : launch_grad<GradConfig<128, true>>(call, s);
  return s.e == 64 ? launch_grad<GradConfig<64, false>>(call, s)
                   : launch_grad<GradConfig<128, false>>(call, s);
}

}  // namespace tessera
