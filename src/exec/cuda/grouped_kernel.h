// SPDX-License-Identifier: Apache-2.0
// The frame of grouped products: a block per multiprocessor goes through tiles of 128 rows. One
// warp has tiles of both operands copied into a ring of stages; two warpgroups multiply them, 64
// rows each, and write the sums while the next tile is on its way. A tile has one block and one
// order of terms, so bits do not depend on the launch.
#pragma once

#include "exec/cuda/cuda_error.h"
#include "exec/cuda/grouped_product.h"
#include "exec/cuda/grouped_result.h"
#include "exec/cuda/grouped_tiles.h"
#include "exec/cuda/hopper.h"
#include "exec/cuda/tensor_map.h"

namespace tessera {

inline constexpr int kGroupThreads = 128, kConsumers = 2;
inline constexpr int kBlockThreads = kGroupThreads * (kConsumers + 1);

// C says what the operands are: kByTerms, kColumns of a tile, kStages, kStageBytes, Result, Sizes
// (a GroupedSizes), and
//   steps(tile)                             how many stages a tile takes
//   copy_stage(a, b, tile, step, to, full)  by one thread
//   sum_tile(sums, shared, place, group, tile, sizes, active)
//     by both warpgroups, 64 rows each; every stage is released, by a group without rows too
template <typename C>
struct GroupedMemory {
  static constexpr int kPassesBytes = kConsumers * 4 * kPassBytes, kBarrierBytes = 8 * C::kStages;
  // With the bytes that may be lost to alignment.
  static constexpr int kBytes =
      1024 + C::kStages * C::kStageBytes + kPassesBytes + 2 * kBarrierBytes + 2 * kMostSorted;
  static_assert(kBytes <= 227 * 1024);

  // Addresses in shared memory.
  uint32_t stages, passes, full, empty;
  uint16_t* order;
  int* scratch;

  __device__ explicit GroupedMemory(std::byte* begin) {
    begin += (1024 - shared_address(begin) % 1024) % 1024;
    stages = shared_address(begin);
    scratch = reinterpret_cast<int*>(begin);
    passes = stages + C::kStages * C::kStageBytes;
    full = passes + kPassesBytes;
    empty = full + kBarrierBytes;
    order = reinterpret_cast<uint16_t*>(begin + (empty + kBarrierBytes - stages));
  }
};

template <typename C>
using GroupedWalk = TileWalk<C::kByTerms, kTileRows, C::kColumns>;

// The tiles of a block: where the list falls, every other turn in the opposite order, so that
// blocks have the same share.
template <typename C>
__device__ inline int tile_of_turn(int turn) {
  const int count = static_cast<int>(gridDim.x), own = static_cast<int>(blockIdx.x);
  return turn * count + (C::kByTerms && turn % 2 == 1 ? count - 1 - own : own);
}

// Into the L2 cache, by one warp: what a weight gradient is added to is wanted when its tile is
// done.
template <typename C>
__device__ void fetch_earlier_sums(const GroupedSizes& sizes, const GroupedTile& tile,
                                   const typename C::Result* c) {
  const auto bytes =
      static_cast<uint32_t>(min(C::kColumns, sizes.n - tile.column) * sizeof(typename C::Result));
  const int64_t first = static_cast<int64_t>(tile.expert) * sizes.m + tile.row;
  for (int row = static_cast<int>(threadIdx.x % 32); row < min(kTileRows, tile.rows_left);
       row += 32)
    fetch_to_cache(c + (first + row) * sizes.n + tile.column, bytes);
}

// By one warp; its first lane copies.
template <typename C>
__device__ void copy_tiles(const CUtensorMap& a, const CUtensorMap& b,
                           const typename C::Sizes& sizes, const GroupedMemory<C>& shared,
                           const uint16_t* order, const typename C::Result* c) {
  GroupedWalk<C> walk(sizes, order);
  GroupedTile tile;
  StageRing<C::kStages> place;
  for (int turn = 0; walk.find(tile_of_turn<C>(turn), tile); ++turn) {
    if (C::kByTerms && sizes.accumulate) fetch_earlier_sums<C>(sizes, tile, c);
    const int steps = C::steps(tile);
    for (int step = 0; step < steps; ++step, place.advance()) {
      const uint32_t full = shared.full + 8 * place.stage;
      wait_for_phase(shared.empty + 8 * place.stage, place.parity ^ 1);
      if (threadIdx.x % 32 != 0) continue;
      arrive_expecting(full, C::kStageBytes);
      C::copy_stage(a, b, tile, step, shared.stages + place.stage * C::kStageBytes, full);
    }
    __syncwarp();
  }
}

// What consumers have written to a stage is there for the products of both.
__device__ inline void publish_to_consumers() {
  publish_stores();
  wait_for_threads(1, kConsumers * kGroupThreads);
}

__device__ inline void release(uint32_t empty) {
  if (threadIdx.x % 32 == 0) arrive(empty);
}

template <typename C>
__device__ void multiply_and_write(const typename C::Sizes& sizes, const GroupedMemory<C>& shared,
                                   const uint16_t* order, typename C::Result* c) {
  GroupedWalk<C> walk(sizes, order);
  GroupedTile tile;
  StageRing<C::kStages> place;
  const int warp = static_cast<int>(threadIdx.x / 32) - 4;  // among consumers
  const int first = 16 * warp;
  const uint32_t buffer = shared.passes + warp * kPassBytes;
  for (int turn = 0; walk.find(tile_of_turn<C>(turn), tile); ++turn) {
    float sums[C::kColumns / 2];
    const bool active = first / 64 * 64 < tile.rows_left;
    C::sum_tile(sums, shared, place, warp / 4, tile, sizes, active);
    if (!active) continue;
    const int64_t row =
        (C::kByTerms ? static_cast<int64_t>(tile.expert) * sizes.m : 0) + tile.row + first;
    const int rows = tile.rows_left - first, columns = sizes.n - tile.column;
    typename C::Result* to = c + row * sizes.n + tile.column;
    if (C::kByTerms && sizes.accumulate)
      write_sums<true>(sums, to, sizes.n, rows, columns, buffer);
    else
      write_sums<false>(sums, to, sizes.n, rows, columns, buffer);
  }
}

template <typename C>
__global__ void __launch_bounds__(kBlockThreads, 1)
    grouped_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                   const typename C::Sizes sizes, typename C::Result* c) {
  extern __shared__ std::byte dynamic[];
  const GroupedMemory<C> shared(dynamic);
  const bool sorted = C::kByTerms && sizes.experts <= kMostSorted;
  if (threadIdx.x == 0) {
    for (int i = 0; i < C::kStages; ++i) {
      init_barrier(shared.full + 8 * i, 1);
      init_barrier(shared.empty + 8 * i, kConsumers * 4);
    }
    publish_barriers();
  }
  if (sorted) {
    sort_experts(sizes, shared.scratch, shared.order);
    publish_stores();
  }
  __syncthreads();
  const uint16_t* order = sorted ? shared.order : nullptr;
  if (threadIdx.x < kGroupThreads) {
    give_registers<56>();
    if (threadIdx.x < 32) copy_tiles<C>(a, b, sizes, shared, order, c);
  } else {
    take_registers<224>();
    multiply_and_write<C>(sizes, shared, order, c);
  }
}

template <typename C>
void launch_grouped(const CUtensorMap& a, const CUtensorMap& b, const typename C::Sizes& sizes,
                    void* c, cudaStream_t stream) {
  constexpr int kBytes = GroupedMemory<C>::kBytes;
  check_cuda(
      cudaFuncSetAttribute(grouped_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
      "allow shared memory");
  grouped_kernel<C><<<multiprocessors(), kBlockThreads, kBytes, stream>>>(
      a, b, sizes, static_cast<typename C::Result*>(c));
  check_cuda(cudaGetLastError(), "launch a grouped product");
}

}  // namespace tessera
