// SPDX-License-Identifier: Apache-2.0
// A warpgroup's part in Hopper's attention gradient: products of its 64 keys with tiles of queries,
// and what becomes of them in registers and shared memory.
#pragma once

#include "exec/cuda/hopper_grad_work.h"
#include "exec/cuda/wgmma.h"

namespace tessera {

// A warpgroup's part: 64 keys of the block.
template <typename C>
struct GradMultiplier {
  static constexpr Lies kTermsT = Lies::TermsTogether, kVectorsT = Lies::VectorsTogether;
  static constexpr int kScores = C::kQueries / 2;  // of a thread
  static constexpr int kPairs = kScores / 2, kSteps = C::kQueries / kTerms;

  uint32_t base;
  int group, thread, warp, lane;
  int first_key;  // of the thread's two, which are 8 apart
  Place keys[2];  // unless plain causal

  // scores = keys queries^T, of `own` keys and a tile of queries, with kSize elements.
  template <int kSize>
  __device__ void multiply_keys(float (&scores)[kScores], uint32_t own, uint32_t queries) const {
#pragma unroll
    for (int k = 0; k < kSize / kTerms; ++k) {
      const int chunk = k / 4, step = k % 4 * static_cast<int>(kTermsStep<kTermsT>);
      const uint64_t a = tile_descriptor(own + chunk * C::kKeys * 128 + group * kChunkBytes) + step;
      const uint64_t b = tile_descriptor(queries + chunk * C::kQueries * 128) + step;
      if (k == 0)
        begin_sums<kTermsT, kTermsT>(scores, a, b);
      else
        add_product<kTermsT, kTermsT>(scores, a, b);
    }
  }
  // sums += weights queries, of a part of the queries' terms.
  template <int kFrom, int kTo, int kSums>
  __device__ void add_queries(float (&sums)[kSums], const uint32_t (&weights)[kPairs],
                              uint32_t queries, bool add) const {
#pragma unroll
    for (int k = kFrom; k < kTo; ++k)
      add_product<kVectorsT>(
          sums, weights + 4 * k,
          tile_descriptor(queries + k / 4 * kChunkBytes) + k % 4 * kTermsStep<kVectorsT>,
          add || k > kFrom);
  }
  // dq = ds keys, of the chunk of 64 queries at `own` and the elements of keys at `k_at`.
  template <int kSums>
  __device__ void multiply_scores(float (&dq)[kSums], uint32_t own, uint32_t k_at) const {
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
  // The group's half of dq: of 64 queries, or of the tile's first or last 64 elements.
  __device__ void multiply_scores(float (&dq)[32], uint32_t ds) const {
    constexpr bool kByQueries = C::kQueries == 128;
    multiply_scores<32>(
        dq, ds + (kByQueries ? group : 0) * 2 * kChunkBytes,
        base + C::kK + (kByQueries ? 0 : group * (C::kE / 64 - 1)) * C::kKeys * 128);
  }
  // Of heads of 192: half of the chunk between the two.
  __device__ void multiply_middle(float (&dq)[16], uint32_t ds) const {
    multiply_scores<16>(dq, ds, base + C::kK + C::kKeys * 128 + group * 64);
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
        const bool seen = C::kPlain
                              ? first_key + 8 * (e / 2) <= token + 8 * j + lane % 4 * 2 + e % 2
                              : sees(queries[e % 2], keys[e / 2]);
        if (!seen) p[4 * j + e] = 0;
      }
    }
  }
  // ds = p (dp - delta), in pairs, of probabilities as they are or rounded to pairs.
  template <typename P>
  __device__ void weigh(uint32_t (&ds)[kPairs], const P& p, const float (&dp)[kScores],
                        uint32_t delta) const {
    each_term(delta, [&](int j, float x, float y) {
      ds[2 * j] =
          pack(entry(p, 4 * j) * (dp[4 * j] - x), entry(p, 4 * j + 1) * (dp[4 * j + 1] - y));
      ds[2 * j + 1] = pack(entry(p, 4 * j + 2) * (dp[4 * j + 2] - x),
                           entry(p, 4 * j + 3) * (dp[4 * j + 3] - y));
    });
  }
  static __device__ float entry(const float (&p)[kScores], int i) { return p[i]; }
  static __device__ float entry(const uint32_t (&pairs)[kPairs], int i) {
    return __uint_as_float(i % 2 == 0 ? pairs[i / 2] << 16 : pairs[i / 2] & 0xffff0000u);
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
  // From the group's part `first` on, of 64 queries by 8 elements each.
  template <int kSums>
  __device__ void stage_sums(const float (&dq)[kSums], int stage, int first = 0) const {
    const uint32_t to =
        base + C::kSums + (2 * stage + group) * (C::kSumBytes / 2) + first * 2048 + thread * 16;
#pragma unroll
    for (int j = 0; j < kSums / 4; ++j)
      asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to + j * 2048), "f"(dq[4 * j]),
                   "f"(dq[4 * j + 1]), "f"(dq[4 * j + 2]), "f"(dq[4 * j + 3])
                   : "memory");
    publish_stores();
  }
  __device__ void release(uint32_t empty) const {
    if (lane == 0) arrive(empty);
  }
};

}  // namespace tessera
