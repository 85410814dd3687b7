// SPDX-License-Identifier: Apache-2.0
// A warp's part of a grouped product's tile, from its registers to memory: 16 rows by all columns,
// or the rows and columns of them that the expert has. It goes by way of shared memory, 128 bytes
// of each row in a pass, so that memory is read and written in whole lines. Sums that were there
// before are added in fp32.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace tessera {

inline constexpr int kPassRows = 16, kPassRowBytes = 128;
inline constexpr int kPassBytes = kPassRows * kPassRowBytes;
inline constexpr int kPassesAhead = 2;  // of which earlier sums are under way
template <typename R>
inline constexpr int kPassColumns = kPassRowBytes / static_cast<int>(sizeof(R));

__device__ inline uint32_t pack_pair(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
__device__ inline float low_of(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_of(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

// What lies in memory: 16 bytes of each of four rows.
struct FourPieces {
  uint4 at[4];
};

struct ResultPass {
  uint32_t buffer;
  std::byte* c;  // the warp's first row, the pass's first column
  int64_t stride_bytes;
  int rows, row_bytes;  // inside

  // Pieces of 16 bytes are permuted so that neither rows nor columns meet in a bank.
  __device__ uint32_t piece_at(int row, int piece) const {
    const int turned = (row << 1 & 6) | (row >> 2 & 1);
    return buffer + static_cast<uint32_t>(row * kPassRowBytes + (piece ^ turned) * 16);
  }
  // f(i, address in shared memory, address in memory) for the lane's four pieces that are inside.
  template <typename F>
  __device__ void each_piece(F f) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = 4 * i + lane / 8, piece = lane % 8;
      if (row < rows && 16 * piece < row_bytes)
        f(i, piece_at(row, piece), reinterpret_cast<uint4*>(c + row * stride_bytes + 16 * piece));
    }
  }
  __device__ void load(FourPieces& earlier) const {
    each_piece([&](int i, uint32_t, const uint4* from) { earlier.at[i] = *from; });
  }
};

__device__ inline void write_shared(uint32_t to, const uint4& v) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}
__device__ inline uint4 read_shared(uint32_t from) {
  uint4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(from)
               : "memory");
  return v;
}

// The pass's sums of a lane, 8 for every 16 columns, in bf16. They are rounded after the addition.
__device__ inline void write_pass(const ResultPass& pass, const FourPieces* earlier, float* sums,
                                  __nv_bfloat16) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (earlier)
    pass.each_piece([&](int i, uint32_t at, uint4*) { write_shared(at, earlier->at[i]); });
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kPassColumns<__nv_bfloat16> / 16; ++i, sums += 8) {
    const uint32_t at = pass.piece_at(lane % 16, 2 * i + lane / 16);
    if (earlier) {
      uint32_t pairs[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
                   : "r"(at)
                   : "memory");
#pragma unroll
      for (int j = 0; j < 4; ++j)
        sums[2 * j] += low_of(pairs[j]), sums[2 * j + 1] += high_of(pairs[j]);
    }
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                 "r"(pack_pair(sums[0], sums[1])), "r"(pack_pair(sums[2], sums[3])),
                 "r"(pack_pair(sums[4], sums[5])), "r"(pack_pair(sums[6], sums[7]))
                 : "memory");
  }
  __syncwarp();
  pass.each_piece([](int, uint32_t at, uint4* to) { *to = read_shared(at); });
}

// The same in fp32.
__device__ inline void write_pass(const ResultPass& pass, const FourPieces* earlier, float* sums,
                                  float) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kPassColumns<float> / 2; i += 2) {
    const int row = lane / 4 + i / 2 % 2 * 8, piece = i / 4 * 2 + lane % 4 / 2;
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(pass.piece_at(row, piece) + lane % 2 * 8),
                 "f"(sums[i]), "f"(sums[i + 1])
                 : "memory");
  }
  __syncwarp();
  pass.each_piece([&](int i, uint32_t at, uint4* to) {
    const uint4 bits = read_shared(at);
    auto sum = reinterpret_cast<const float4&>(bits);
    if (earlier) {
      const auto& before = reinterpret_cast<const float4&>(earlier->at[i]);
      sum.x += before.x, sum.y += before.y, sum.z += before.z, sum.w += before.w;
    }
    *reinterpret_cast<float4*>(to) = sum;
  });
}

// c: the warp's first row, the tile's first column, of which `rows` and `columns` are inside. The
// tile has two columns for each of a thread's sums.
template <bool kAccumulate, typename R, int kSums>
__device__ inline void write_sums(float (&sums)[kSums], R* c, int64_t stride, int rows, int columns,
                                  uint32_t buffer) {
  constexpr int kColumns = kPassColumns<R>;
  const auto pass_at = [&](int column) {
    return ResultPass{.buffer = buffer,
                      .c = reinterpret_cast<std::byte*>(c + column),
                      .stride_bytes = stride * static_cast<int64_t>(sizeof(R)),
                      .rows = rows,
                      .row_bytes = (columns - column) * static_cast<int>(sizeof(R))};
  };
#pragma unroll
  for (int first = 0; first < 2 * kSums; first += kPassesAhead * kColumns) {
    FourPieces earlier[kPassesAhead];
#pragma unroll
    for (int i = 0; kAccumulate && i < kPassesAhead; ++i)
      pass_at(first + i * kColumns).load(earlier[i]);
#pragma unroll
    for (int i = 0; i < kPassesAhead; ++i)
      write_pass(pass_at(first + i * kColumns), kAccumulate ? &earlier[i] : nullptr,
                 sums + (first + i * kColumns) / 2, R{});
  }
}

}  // namespace tessera
