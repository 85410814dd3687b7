// SPDX-License-Identifier: Apache-2.0
// The rows of a warpgroup of Hopper's attention: scores of a tile of keys become weights, with a
// running maximum and sum (FlashAttention-3 by Shah et al.). A thread has two rows, 8 apart, and a
// quarter of their columns.
#pragma once

#include "exec/cuda/hopper_forward_work.h"

namespace tessera {

template <typename C>
struct ForwardRows {
  static constexpr int kScores = C::kKeys / 2, kOut = C::kValueE / 2;

  float max[2], sum[2], fade[2];
  int token[2];    // of the two rows
  Place place[2];  // unless plain causal
  float scale;     // times log2(e)

  __device__ void begin() {
#pragma unroll
    for (int half = 0; half < 2; ++half) max[half] = -INFINITY, sum[half] = 0;
  }

  // Of the item's rows `first` and first + 8.
  __device__ void find_places(const AttentionPlaces& at, const ForwardSizes& s,
                              const ForwardItem<C>& item, int first) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      token[half] = item.token + ((first + 8 * half) >> s.pack_shift);
      if constexpr (!C::kPlain) {
        const int64_t i = static_cast<int64_t>(item.b) * s.seq + token[half];
        place[half] =
            token[half] < s.seq ? Place{at.positions[i], at.documents[i]} : Place{INT_MIN, 0};
      }
    }
  }

  // Hides what is not seen of the keys from `key` on.
  __device__ void hide(float (&scores)[kScores], int key, uint32_t places) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int j = 0; j < C::kKeys / 8; ++j) {
      Place keys[2];
      if constexpr (!C::kPlain)
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(keys[0].position), "=r"(keys[0].document), "=r"(keys[1].position),
                       "=r"(keys[1].document)
                     : "r"(places + 64 * j + lane % 4 * 16));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool seen = C::kPlain ? key + 8 * j + lane % 4 * 2 + i % 2 <= token[i / 2]
                                    : sees(place[i / 2], keys[i % 2]);
        if (!seen) scores[4 * j + i] = -INFINITY;
      }
    }
  }

  // Scores become weights; `fade` is what earlier weights are to be multiplied by.
  __device__ void absorb(float (&scores)[kScores]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest[2] = {max[half], scores[2 * half]};
#pragma unroll
      for (int j = 0; j < C::kKeys / 8; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) largest[i] = fmaxf(largest[i], scores[4 * j + 2 * half + i]);
      float now = fmaxf(largest[0], largest[1]);
      now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 1));
      now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 2));
      // Products that are rounded, so that an unchanged maximum fades nothing.
      const float offset = now == -INFINITY ? 0.0f : __fmul_rn(now, scale);
      fade[half] = power_of_two(__fmul_rn(max[half], scale) - offset);
      max[half] = now;
      float sums[2] = {sum[half] * fade[half], 0};
#pragma unroll
      for (int j = 0; j < C::kKeys / 8; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& weight = scores[4 * j + 2 * half + i];
          weight = power_of_two(fmaf(weight, scale, -offset));
          sums[i] += weight;
        }
      sum[half] = sums[0] + sums[1];
    }
  }
  // In natural logarithms; `all` is the sum over all columns.
  __device__ float lse(int half, float all) const {
    constexpr float kLogOf2 = 0.6931471805599453f;
    return all == 0 ? -INFINITY : fmaf(__fmul_rn(max[half], scale), kLogOf2, logf(all));
  }
  __device__ void apply_fade(float (&out)[kOut]) const {
#pragma unroll
    for (int j = 0; j < kOut; ++j) out[j] *= fade[j / 2 % 2];
  }
};

}  // namespace tessera
