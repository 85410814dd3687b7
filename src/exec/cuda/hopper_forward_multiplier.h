// SPDX-License-Identifier: Apache-2.0
// A warpgroup's part in Hopper's attention: 64 rows. While it turns one tile's scores into weights,
// the tensor cores multiply the previous tile's weights with values; warpgroups take turns at
// issuing products, so that one's exponentials run under another's products.
#pragma once

#include "exec/cuda/hopper_forward_rows.h"

namespace tessera {

struct ForwardMaps {
  CUtensorMap q, k, v, o;
};

template <typename C>
struct ForwardMultiplier {
  static constexpr Lies kTermsT = Lies::TermsTogether, kVectorsT = Lies::VectorsTogether;
  static constexpr int kPairs = C::kKeys / 4;

  uint32_t base;
  ForwardBarriers<C> at;
  int group, thread, warp, lane;
  ForwardRows<C> rows = {};
  StageRing<C::kQueryStages> items = {};
  StageRing<C::kStages> keys = {}, values = {};

  __device__ ForwardMultiplier(uint32_t base_address, const ForwardBarriers<C>& barriers)
      : base(base_address),
        at(barriers),
        group(static_cast<int>(threadIdx.x / kGroupThreads) - 1),
        thread(static_cast<int>(threadIdx.x % kGroupThreads)),
        warp(thread / 32),
        lane(thread % 32) {}

  __device__ uint32_t own_queries() const {
    return base + C::kQ + items.stage * C::kQueryBytes + group * kChunkBytes;
  }

  // Named barriers 1 and on: a warpgroup waits for its own, which the one before it reaches too.
  __device__ void wait_for_turn() const { wait_for_threads(1 + group, 2 * kGroupThreads); }
  __device__ void end_turn() const {
    arrive_at_threads(1 + (group + 1) % C::kGroups, 2 * kGroupThreads);
  }

  __device__ TileTag wait_for_keys() const {
    wait_for_phase(at.k_full + 8 * keys.stage, keys.parity);
    TileTag tag;
    asm volatile("ld.shared.b32 %0, [%1];"
                 : "=r"(tag.bits)
                 : "r"(base + C::kTags + 4 * keys.stage)
                 : "memory");
    return tag;
  }
  // The warpgroup's queries, as products take them from registers.
  __device__ void load_queries(uint32_t (&queries)[C::kHeld]) const {
    if constexpr (C::kHoldsQueries) {
      const int row = 16 * warp + lane % 16;
#pragma unroll
      for (int k = 0; k < C::kE / kTerms; ++k) {
        const int piece = k % 4 * 2 + lane / 16;
        uint32_t four[4];
        load_matrices(four,
                      own_queries() + (k / 4 * C::kRows + row) * 128 + (piece ^ row % 8) * 16);
#pragma unroll
        for (int i = 0; i < 4; ++i) queries[4 * k + i] = four[i];
      }
    }
  }
  // scores = queries keys^T.
  __device__ void multiply_keys(float (&scores)[C::kKeys / 2],
                                const uint32_t (&queries)[C::kHeld]) const {
    const uint32_t k_at = base + C::kK + keys.stage * C::kKeyBytes;
#pragma unroll
    for (int k = 0; k < C::kE / kTerms; ++k) {
      const int chunk = k / 4, step = k % 4 * static_cast<int>(kTermsStep<kTermsT>);
      const uint64_t b = tile_descriptor(k_at + chunk * C::kKeys * 128) + step;
      if constexpr (C::kHoldsQueries) {
        if (k == 0)
          begin_sums<kTermsT>(scores, queries, b);
        else
          add_product<kTermsT>(scores, queries + 4 * k, b, true);
      } else {
        const uint64_t a = tile_descriptor(own_queries() + chunk * C::kRows * 128) + step;
        if (k == 0)
          begin_sums<kTermsT, kTermsT>(scores, a, b);
        else
          add_product<kTermsT, kTermsT>(scores, a, b);
      }
    }
    end_product_group();
  }
  // out += weights values.
  __device__ void add_values(float (&out)[C::kValueE / 2], const uint32_t (&weights)[kPairs],
                             bool add) const {
    const uint32_t v_at = base + C::kV + values.stage * C::kValueBytes;
#pragma unroll
    for (int k = 0; k < C::kKeys / kTerms; ++k)
      add_product<kVectorsT>(
          out, weights + 4 * k,
          tile_descriptor<C::kKeys * 128>(v_at) + k * static_cast<int>(kTermsStep<kVectorsT>),
          add || k > 0);
    end_product_group();
  }
  // With the tile goes what its lanes have read of places and tags.
  __device__ void release_keys() {
    __syncwarp();
    if (lane == 0) arrive(at.k_empty + 8 * keys.stage);
    keys.advance();
  }
  __device__ void release_values() {
    if (lane == 0) arrive(at.v_empty + 8 * values.stage);
    values.advance();
  }
  __device__ void hide_if_needed(float (&scores)[C::kKeys / 2], TileTag tag) const {
    if (!tag.is_whole())
      rows.hide(scores, tag.tile() * C::kKeys, base + C::kPlaces + keys.stage * C::kPlaceBytes);
  }
  __device__ static void pack_weights(uint32_t (&weights)[kPairs],
                                      const float (&scores)[C::kKeys / 2]) {
#pragma unroll
    for (int j = 0; j < kPairs; ++j) weights[j] = pack(scores[2 * j], scores[2 * j + 1]);
  }

  struct Tile {
    float scores[C::kKeys / 2];
    uint32_t weights[kPairs], queries[C::kHeld];
  };

  // The next tile's scores become weights, while the previous tile's are multiplied with values.
  template <bool kMayHide>
  __device__ TileTag step(Tile& t, float (&out)[C::kValueE / 2], bool add) {
    const TileTag tag = wait_for_keys();
    wait_for_turn();
    begin_products();
    multiply_keys(t.scores, t.queries);
    wait_for_phase(at.v_full + 8 * values.stage, values.parity);
    begin_products();
    add_values(out, t.weights, add);
    end_turn();
    wait_for_products<1>();
    pin(t.scores);
    if constexpr (kMayHide) hide_if_needed(t.scores, tag);
    release_keys();
    rows.absorb(t.scores);
    wait_for_products<0>();
    pin(out);
    release_values();
    pack_weights(t.weights, t.scores);
    rows.apply_fade(out);
    return tag;
  }

  // Lets a tile go by that none of the warpgroup's rows sees.
  __device__ void skip_tile() {
    wait_for_turn();
    end_turn();
    release_keys();
    wait_for_phase(at.v_full + 8 * values.stage, values.parity);
    release_values();
  }

  // An item that sees keys: the sum over them, not yet divided. `first` is the item's first query,
  // `last` the warpgroup's last.
  __device__ void attend(float (&out)[C::kValueE / 2], int first, int last) {
    Tile t;
    load_queries(t.queries);
    rows.begin();
    TileTag tag = wait_for_keys();
    if constexpr (C::kPlain && C::kRows > C::kKeys)
      for (; tag.tile() * C::kKeys > last; tag = wait_for_keys()) skip_tile();
    begin_products();
    multiply_keys(t.scores, t.queries);
    wait_for_products<0>();
    pin(t.scores);
    hide_if_needed(t.scores, tag);
    release_keys();
    rows.absorb(t.scores);
    pack_weights(t.weights, t.scores);
    bool add = false;
    if constexpr (C::kPlain)  // after these, no tile has hidden pairs
      for (; !tag.is_last() && tag.tile() * C::kKeys > first + 1; add = true)
        tag = step<true>(t, out, add);
    for (; !tag.is_last(); add = true) tag = step<!C::kPlain>(t, out, add);
    wait_for_phase(at.v_full + 8 * values.stage, values.parity);
    begin_products();
    add_values(out, t.weights, add);
    wait_for_products<0>();
    pin(out);
    release_values();
  }

  // The result in place of the queries, from where the copy engine takes it.
  __device__ void stage_result(const float (&out)[C::kValueE / 2]) const {
    const int row = 16 * warp + lane % 16;
    const uint32_t to = own_queries() + row * 128;
#pragma unroll
    for (int j = 0; j < C::kValueE / 16; ++j) {
      const int piece = (2 * j + lane / 16) % 8;
      const auto pair = [&](int i) { return pack(out[8 * j + i], out[8 * j + i + 1]); };
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       to + j / 4 * C::kRows * 128 + (piece ^ row % 8) * 16),
                   "r"(pair(0)), "r"(pair(2)), "r"(pair(4)), "r"(pair(6))
                   : "memory");
    }
    publish_stores();
  }

  __device__ void write(float (&out)[C::kValueE / 2], const ForwardMaps& maps,
                        const ForwardSizes& s, const ForwardItem<C>& item, float* lse) {
    const int first = kGroupRows * group + 16 * warp + lane / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = rows.sum[half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const float weight = sum == 0 ? 0.0f : 1 / sum;
#pragma unroll
      for (int j = 0; j < C::kValueE / 8; ++j)
        out[4 * j + 2 * half] *= weight, out[4 * j + 2 * half + 1] *= weight;
      const int head = item.head + ((first + 8 * half) & (s.pack - 1));
      const int64_t token = static_cast<int64_t>(item.b) * s.seq + rows.token[half];
      if (lane % 4 == 0 && rows.token[half] < s.seq)
        lse[token * (s.kv_heads * s.group) + head] = rows.lse(half, sum);
    }
    stage_result(out);
    wait_for_threads(1 + C::kGroups + group, kGroupThreads);
    if (thread == 0) {
      const int token = item.token + (kGroupRows * group >> s.pack_shift);
#pragma unroll
      for (int chunk = 0; chunk < C::kValueE / kChunk; ++chunk)
        write_box(maps.o, chunk * kChunk, item.head, token, item.b,
                  own_queries() + chunk * C::kRows * 128);
      end_write_group();
      wait_until_read();
      arrive(at.q_empty + 8 * items.stage);
    }
  }
};

}  // namespace tessera
