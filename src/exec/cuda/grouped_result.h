// SPDX-License-Identifier: Apache-2.0
// A warp's part of a grouped product's tile, from its registers to memory: 16 rows by 256 columns,
// or the rows and columns of them that the expert has. Sums that were there before are added in
// fp32.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "exec/cuda/grouped_tiles.h"

namespace tessera {

inline constexpr int kSums = kTileColumns / 2;  // of a thread
inline constexpr int kPassColumns = 64;         // written by a warp at a time: 16 rows of 128 bytes
inline constexpr int kPassBytes = 16 * 2 * kPassColumns;

__device__ inline uint32_t pack_pair(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
__device__ inline float low_of(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_of(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

// A warp's 16 rows by 64 columns, between the layout of sums and rows in memory, by way of shared
// memory whose 16-byte pieces are permuted.
struct ResultPass {
  uint32_t buffer;
  __nv_bfloat16* c;  // the warp's first row, the pass's first column
  int64_t stride;
  int rows, columns;  // inside

  template <typename F>
  __device__ void each_piece(F f) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = 4 * i + lane / 8, piece = lane % 8;
      if (row < rows && 8 * piece < columns)
        f(buffer + row * 128 + ((piece ^ (row & 7)) * 16),
          reinterpret_cast<uint4*>(c + row * stride + 8 * piece));
    }
  }
  // Of columns 16 i to 16 i + 15: what a lane names to ldmatrix and stmatrix.
  __device__ uint32_t matrices(int i) const {
    const int lane = static_cast<int>(threadIdx.x % 32), row = lane % 16;
    return buffer + row * 128 + (((2 * i + lane / 16) ^ (row & 7)) * 16);
  }
  __device__ void load() const {
    each_piece([](uint32_t at, const uint4* from) {
      const uint4 v = *from;
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(v.x), "r"(v.y),
                   "r"(v.z), "r"(v.w)
                   : "memory");
    });
    __syncwarp();
  }
  __device__ void store() const {
    __syncwarp();
    each_piece([](uint32_t at, uint4* to) {
      uint4 v;
      asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "r"(at)
                   : "memory");
      *to = v;
    });
    __syncwarp();
  }
};

__device__ inline void add_pairs(float* sums, uint32_t at) {
  uint32_t pairs[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
               : "r"(at)
               : "memory");
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[2 * i] += low_of(pairs[i]);
    sums[2 * i + 1] += high_of(pairs[i]);
  }
}
__device__ inline void write_pairs(const float* sums, uint32_t at) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
               "r"(pack_pair(sums[0], sums[1])), "r"(pack_pair(sums[2], sums[3])),
               "r"(pack_pair(sums[4], sums[5])), "r"(pack_pair(sums[6], sums[7]))
               : "memory");
}

// c: the warp's first row, the tile's first column.
__device__ inline void write_sums(float (&sums)[kSums], __nv_bfloat16* c, int64_t stride, int rows,
                                  int columns, bool accumulate, uint32_t buffer) {
#pragma unroll
  for (int first = 0; first < kTileColumns; first += kPassColumns) {
    const ResultPass pass{.buffer = buffer,
                          .c = c + first,
                          .stride = stride,
                          .rows = rows,
                          .columns = columns - first};
    if (accumulate) pass.load();
#pragma unroll
    for (int i = 0; i < kPassColumns / 16; ++i) {
      float* own = sums + first / 2 + 8 * i;
      if (accumulate) add_pairs(own, pass.matrices(i));
      write_pairs(own, pass.matrices(i));
    }
    pass.store();
  }
}
__device__ inline void write_sums(float (&sums)[kSums], float* c, int64_t stride, int rows,
                                  int columns, bool accumulate, uint32_t) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < kTileColumns / 2; i += 2) {
    const int row = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2;
    if (row >= rows || column >= columns) continue;
    auto* to = reinterpret_cast<float2*>(c + row * stride + column);
    float2 sum{sums[i], sums[i + 1]};
    if (accumulate) sum.x += to->x, sum.y += to->y;
    *to = sum;
  }
}

}  // namespace tessera
