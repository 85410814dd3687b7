// SPDX-License-Identifier: Apache-2.0
// For CUDA kernels alone: launching them, elements in their accumulator's type, and sums over a
// block of threads in an order that never changes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "exec/cuda/cuda_call.h"

namespace tessera {

struct Grid {
  dim3 blocks;
  int threads;
  size_t shared_bytes = 0;
};

template <typename... Parameters, typename... Arguments>
void launch(const CudaCall& call, const Grid& grid, void (*kernel)(Parameters...),
            Arguments... arguments) {
  kernel<<<grid.blocks, grid.threads, grid.shared_bytes, call.stream>>>(arguments...);
  check_cuda(cudaGetLastError(), "launch a kernel");
}

inline unsigned blocks_for(int64_t count, int64_t per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

inline constexpr int kThreads = 256;
inline constexpr int kMostBlocks =
    4096;  // of a loop with the grid's stride: a few per multiprocessor

inline Grid grid_for(int64_t count) {
  const unsigned blocks = blocks_for(count, kThreads);
  return {.blocks = blocks < kMostBlocks ? blocks : kMostBlocks, .threads = kThreads};
}

__device__ inline int64_t first_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t index_stride() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// An element in its accumulator's type, and back: `load` and `store` of core/dtype.h.
__device__ inline float widen(Bf16 x) {
  return __uint_as_float(static_cast<uint32_t>(x.bits) << 16);
}
__device__ inline float widen(float x) { return x; }
__device__ inline double widen(double x) { return x; }

template <typename T>
__device__ inline T narrow(Accumulator<T> x) {
  if constexpr (std::is_same_v<T, Bf16>)
    return Bf16{__bfloat16_as_ushort(__float2bfloat16_rn(x))};
  else
    return x;
}

template <typename S>
__device__ inline S warp_sum(S value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}
template <typename S>
__device__ inline S warp_max(S value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const S other = __shfl_xor_sync(0xffffffffu, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

// Over all threads of the block, whose number is a multiple of 32; every thread gets it.
template <typename S, typename Combine>
__device__ inline S block_combine(S value, S neutral, Combine combine) {
  __shared__ S parts[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  value = combine(value);
  __syncthreads();  // what an earlier call left there has been read
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  return combine(lane < static_cast<int>(blockDim.x / 32) ? parts[lane] : neutral);
}

struct SumOfWarp {
  template <typename S>
  __device__ S operator()(S value) const {
    return warp_sum(value);
  }
};
struct MaxOfWarp {
  template <typename S>
  __device__ S operator()(S value) const {
    return warp_max(value);
  }
};

template <typename S>
__device__ inline S block_sum(S value) {
  return block_combine(value, S{0}, SumOfWarp{});
}
template <typename S>
__device__ inline S block_max(S value, S lowest) {
  return block_combine(value, lowest, MaxOfWarp{});
}

}  // namespace tessera
