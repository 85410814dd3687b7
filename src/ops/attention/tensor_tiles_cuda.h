// SPDX-License-Identifier: Apache-2.0
// Products on tensor cores between tiles of bf16 vectors in shared memory, summed in fp32 by each
// warp for itself. A tile has kE elements per vector; its 16-byte chunks are permuted so that eight
// vectors are read without conflicts. Fragments are those of mma.m16n8k16.
#pragma once

#include "exec/cuda/kernel_launch.h"

namespace tessera {

// A vector's chunk, in bytes from the tile's begin.
template <int kE>
__device__ inline uint32_t chunk_at(int vector, int chunk) {
  return static_cast<uint32_t>(vector * (kE / 8) + (chunk ^ (vector & 7))) * 16;
}

// Copies complete with their group; zeros are written beyond the end of the source.
template <int kBytes>
__device__ inline void copy_async(uint32_t to, const void* from, bool inside) {
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(inside ? 16 : 0));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes),
                 "r"(inside ? kBytes : 0));
}
__device__ inline void end_copy_group() { asm volatile("cp.async.commit_group;"); }
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft));
}

// `address(i)`: the offset of vector i, in elements of `from`.
template <int kE, typename Address>
__device__ inline void load_tile(uint32_t to, const Bf16* from, int vectors, int inside,
                                 Address address) {
  constexpr int kChunks = kE / 8;
  for (int i = static_cast<int>(threadIdx.x); i < vectors * kChunks;
       i += static_cast<int>(blockDim.x)) {
    const int vector = i / kChunks, chunk = i % kChunks;
    const bool is_inside = vector < inside;
    const int64_t at = is_inside ? address(vector) + 8 * chunk : 0;
    copy_async<16>(to + chunk_at<kE>(vector, chunk), from + at, is_inside);
  }
}

__device__ inline void load_matrices(uint32_t (&to)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from));
}
__device__ inline void load_matrices_transposed(uint32_t (&to)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from));
}
__device__ inline void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
inline constexpr float kLog2OfE = 1.4426950408889634f;
// 2^x to two units in the last place; 0 for what is below the smallest normal number.
__device__ inline float power_of_two(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
__device__ inline uint32_t pack(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// A warp's sums of 16 kM vectors by 8 kN others (or elements): [m][n][i] is of vector
// 16 m + lane / 4 + 8 (i / 2) and column 8 n + 2 (lane % 4) + i % 2.
template <int kM, int kN>
struct WarpSums {
  float at[kM][kN][4] = {};

  template <typename F>
  __device__ void each(F&& f) {
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int n = 0; n < kN; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) f(at[m][n][i], m, n, i);
  }

  // Adds x y^T: x has the warp's own vectors, from `own` on, y the others, from `other` on.
  template <int kE>
  __device__ void add_scores(uint32_t x, int own, uint32_t y, int other) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int k = 0; k < kE / 16; ++k) {
      uint32_t a[kM][4];
#pragma unroll
      for (int m = 0; m < kM; ++m)
        load_matrices(a[m], x + chunk_at<kE>(own + 16 * m + lane % 16, 2 * k + lane / 16));
#pragma unroll
      for (int n = 0; n < kN; n += 2) {
        uint32_t b[4];
        load_matrices(
            b, y + chunk_at<kE>(other + 8 * n + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
#pragma unroll
        for (int m = 0; m < kM; ++m) {
          multiply_add(at[m][n], a[m], b[0], b[1]);
          multiply_add(at[m][n + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  // Adds p y, where p has a weight for each of 8 kOthers others, rounded to bf16, and y their
  // elements.
  template <int kE, int kOthers>
  __device__ void add_mix(const WarpSums<kM, kOthers>& p, uint32_t y, int other) {
    static_assert(kN == kE / 8);
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int k = 0; k < kOthers / 2; ++k) {
      uint32_t a[kM][4];
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          a[m][i] = pack(p.at[m][2 * k + i / 2][i % 2 * 2], p.at[m][2 * k + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int n = 0; n < kN; n += 2) {
        uint32_t b[4];
        load_matrices_transposed(b, y + chunk_at<kE>(other + 16 * k + lane % 16, n + lane / 16));
#pragma unroll
        for (int m = 0; m < kM; ++m) {
          multiply_add(at[m][n], a[m], b[0], b[1]);
          multiply_add(at[m][n + 1], a[m], b[2], b[3]);
        }
      }
    }
  }
};

}  // namespace tessera
