// SPDX-License-Identifier: Apache-2.0
// A block per multiprocessor goes through tiles of 128 rows. One warp has tiles of both operands
// copied into a ring of stages; two warpgroups multiply them, 64 rows each, and write the sums. The
// next tile is on its way while sums are written. A tile has one block and one order of terms, so
// bits do not depend on the launch.
#include <algorithm>

#include "exec/cuda/cuda_error.h"
#include "exec/cuda/grouped_product.h"
#include "exec/cuda/grouped_result.h"
#include "exec/cuda/grouped_tiles.h"
#include "exec/cuda/hopper.h"
#include "exec/cuda/tensor_map.h"
#include "exec/cuda/wgmma.h"

namespace tessera {
namespace {

constexpr int kGroupThreads = 128, kConsumers = 2;
constexpr int kBlockThreads = kGroupThreads * (kConsumers + 1);

constexpr int kChunksA = kTileRows / kChunk, kChunksB = kTileColumns / kChunk;
constexpr int kStageBytes = (kChunksA + kChunksB) * kChunkBytes, kStages = 4;
constexpr int kPassesBytes = kConsumers * 4 * kPassBytes, kBarrierBytes = 8 * kStages;
// With the bytes that may be lost to alignment.
constexpr int kSharedBytes =
    1024 + kStages * kStageBytes + kPassesBytes + 2 * kBarrierBytes + 2 * kMostSorted;
static_assert(kSharedBytes <= 227 * 1024);

template <GroupedForm kForm, typename ResultOf>
struct Config {
  using Result = ResultOf;
  static constexpr bool kByTerms = kForm == GroupedForm::WeightGradient;
  static constexpr Lies kA = kByTerms ? Lies::VectorsTogether : Lies::TermsTogether;
  static constexpr Lies kB =
      kForm == GroupedForm::InputGradient ? Lies::TermsTogether : Lies::VectorsTogether;
  using Walk = TileWalk<kByTerms>;
};

// Addresses in shared memory.
struct Shared {
  uint32_t stages, passes, full, empty;
  uint16_t* order;
  int* scratch;

  __device__ explicit Shared(std::byte* begin) {
    begin += (1024 - shared_address(begin) % 1024) % 1024;
    stages = shared_address(begin);
    scratch = reinterpret_cast<int*>(begin);
    passes = stages + kStages * kStageBytes;
    full = passes + kPassesBytes;
    empty = full + kBarrierBytes;
    order = reinterpret_cast<uint16_t*>(begin + (empty + kBarrierBytes - stages));
  }
};

using RingPlace = StageRing<kStages>;  // of a block

// The tiles of a block: where the list falls, every other turn in the opposite order, so that
// blocks have the same share.
template <typename C>
__device__ inline int tile_of_turn(int turn) {
  const int count = static_cast<int>(gridDim.x), own = static_cast<int>(blockIdx.x);
  return turn * count + (C::kByTerms && turn % 2 == 1 ? count - 1 - own : own);
}

template <Lies kLies>
struct BoxPlace {
  int x, y;
  __device__ BoxPlace(int vector, int term)
      : x(kLies == Lies::TermsTogether ? term : vector),
        y(kLies == Lies::TermsTogether ? vector : term) {}
};

// Into the L2 cache, by one warp: what a weight gradient is added to is wanted when its tile is
// done.
template <typename R>
__device__ void fetch_earlier_sums(const GroupedSizes& sizes, const GroupedTile& tile, const R* c) {
  const auto bytes = static_cast<uint32_t>(min(kTileColumns, sizes.n - tile.column) * sizeof(R));
  const int64_t first = static_cast<int64_t>(tile.expert) * sizes.m + tile.row;
  for (int row = static_cast<int>(threadIdx.x % 32); row < min(kTileRows, tile.rows_left);
       row += 32)
    fetch_to_cache(c + (first + row) * sizes.n + tile.column, bytes);
}

// By one warp; its first lane copies.
template <typename C>
__device__ void copy_tiles(const CUtensorMap& a, const CUtensorMap& b, const GroupedSizes& sizes,
                           const Shared& shared, const uint16_t* order,
                           const typename C::Result* c) {
  typename C::Walk walk(sizes, order);
  GroupedTile tile;
  RingPlace place;
  for (int turn = 0; walk.find(tile_of_turn<C>(turn), tile); ++turn) {
    if (C::kByTerms && sizes.accumulate) fetch_earlier_sums(sizes, tile, c);
    for (int term = 0; term < tile.terms; term += kChunk, place.advance()) {
      const uint32_t full = shared.full + 8 * place.stage;
      wait_for_phase(shared.empty + 8 * place.stage, place.parity ^ 1);
      if (threadIdx.x % 32 != 0) continue;
      arrive_expecting(full, kStageBytes);
      uint32_t to = shared.stages + place.stage * kStageBytes;
      for (int i = 0; i < kChunksA; ++i, to += kChunkBytes) {
        const BoxPlace<C::kA> box(tile.row + i * kChunk, tile.term + term);
        copy_box(to, a, box.x, box.y, 0, 0, full);
      }
      for (int i = 0; i < kChunksB; ++i, to += kChunkBytes) {
        const BoxPlace<C::kB> box(tile.column + i * kChunk, tile.term + term);
        copy_box(to, b, box.x, box.y, C::kByTerms ? 0 : tile.expert, 0, full);
      }
    }
    __syncwarp();
  }
}

// Terms from `inside` to the end of their instruction become zeros: they are another expert's. By
// all consumers, in both operands, since a product with what lies there need not be zero.
__device__ inline void clear_terms(uint32_t stage, int inside) {
  const int end = (inside + kTerms - 1) / kTerms * kTerms;
  const int pieces = (end - inside) * 8;  // 16 bytes each, in every chunk
  for (int i = static_cast<int>(threadIdx.x) - kGroupThreads; i < pieces * (kChunksA + kChunksB);
       i += kConsumers * kGroupThreads) {
    const uint32_t at = stage + i / pieces * kChunkBytes + inside * 128 + i % pieces * 16;
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(0) : "memory");
  }
  publish_stores();
  wait_for_threads(1, kConsumers * kGroupThreads);
}

__device__ inline void release(uint32_t empty) {
  if (threadIdx.x % 32 == 0) arrive(empty);
}

template <typename C>
__device__ inline void multiply_terms(float (&sums)[kSums], uint32_t stage, int group, int i,
                                      bool add) {
  const uint64_t a = tile_descriptor(stage + group * kChunkBytes);
  const uint64_t b = tile_descriptor(stage + kChunksA * kChunkBytes);
  multiply_tiles<C::kA, C::kB>(sums, a + i * kTermsStep<C::kA>, b + i * kTermsStep<C::kB>, add);
}

// The last terms of an expert, fewer than a stage has.
template <typename C>
__device__ inline void add_last_terms(float (&sums)[kSums], const Shared& shared, RingPlace& place,
                                      int group, int inside, bool active) {
  const uint32_t stage = shared.stages + place.stage * kStageBytes;
  wait_for_phase(shared.full + 8 * place.stage, place.parity);
  if (inside % kTerms != 0) clear_terms(stage, inside);
  if (active) {
#pragma unroll 1
    for (int i = 0; i * kTerms < inside; ++i) {
      begin_products();
      multiply_terms<C>(sums, stage, group, i, true);
      end_product_group();
      wait_for_products<0>();
    }
  }
  release(shared.empty + 8 * place.stage);
  place.advance();
}

// The warpgroup's 64 rows of a tile. Every stage is released, by a group without rows too.
template <typename C>
__device__ inline void sum_tile(float (&sums)[kSums], const Shared& shared, RingPlace& place,
                                int group, int terms, bool active) {
  const int stages = C::kByTerms ? terms / kChunk : (terms + kChunk - 1) / kChunk;
  if (C::kByTerms)
#pragma unroll
    for (float& sum : sums) sum = 0;
  uint32_t before = 0;
  for (int s = 0; s < stages; ++s, place.advance()) {
    const uint32_t stage = shared.stages + place.stage * kStageBytes;
    const uint32_t empty = shared.empty + 8 * place.stage;
    wait_for_phase(shared.full + 8 * place.stage, place.parity);
    if (!active) {
      release(empty);
      continue;
    }
    begin_products();
#pragma unroll
    for (int i = 0; i < kChunk / kTerms; ++i)
      multiply_terms<C>(sums, stage, group, i, C::kByTerms || s + i > 0);
    end_product_group();
    wait_for_products<1>();
    if (s > 0) release(before);
    before = empty;
  }
  wait_for_products<0>();
  if (active && stages > 0) release(before);
  if (C::kByTerms && terms % kChunk != 0)
    add_last_terms<C>(sums, shared, place, group, terms % kChunk, active);
}

template <typename C>
__device__ void multiply_and_write(const GroupedSizes& sizes, const Shared& shared,
                                   const uint16_t* order, typename C::Result* c) {
  typename C::Walk walk(sizes, order);
  GroupedTile tile;
  RingPlace place;
  const int warp = static_cast<int>(threadIdx.x / 32) - 4;  // among consumers
  const int first = 16 * warp;
  const uint32_t buffer = shared.passes + warp * kPassBytes;
  for (int turn = 0; walk.find(tile_of_turn<C>(turn), tile); ++turn) {
    float sums[kSums];
    const bool active = first / 64 * 64 < tile.rows_left;
    sum_tile<C>(sums, shared, place, warp / 4, tile.terms, active);
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
                   const GroupedSizes sizes, typename C::Result* c) {
  extern __shared__ std::byte dynamic[];
  const Shared shared(dynamic);
  const bool sorted = C::kByTerms && sizes.experts <= kMostSorted;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
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

// Of bf16 [count, outer, inner], in boxes of 64 by 64.
CUtensorMap map_of(const void* data, int64_t count, int64_t outer, int64_t inner) {
  return make_tensor_map(data, {inner, outer, count, 1}, 1, kChunk);
}

template <typename C>
void launch_grouped(const GroupedProduct& p, cudaStream_t stream) {
  const int k = static_cast<int>(p.k), n = static_cast<int>(p.n);
  const bool is_input_gradient = p.form == GroupedForm::InputGradient;
  const GroupedSizes sizes{.ends = p.ends,
                           .experts = static_cast<int>(p.experts),
                           .m = k,
                           .n = is_input_gradient ? k : n,
                           .k = is_input_gradient ? n : k,
                           .accumulate = p.accumulate};
  const CUtensorMap a = map_of(p.a, 1, p.rows, is_input_gradient ? p.n : p.k);
  const CUtensorMap b =
      C::kByTerms ? map_of(p.b, 1, p.rows, p.n) : map_of(p.b, p.experts, p.k, p.n);
  check_cuda(cudaFuncSetAttribute(grouped_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  kSharedBytes),
             "allow shared memory");
  grouped_kernel<C><<<multiprocessors(), kBlockThreads, kSharedBytes, stream>>>(
      a, b, sizes, static_cast<typename C::Result*>(p.c));
  check_cuda(cudaGetLastError(), "launch a grouped product");
}

}  // namespace

bool can_group(const GroupedProduct& p) {
  constexpr int64_t kMultiple = 8, kMost = int64_t{1} << 30;  // 16 bytes; indices are 32 bits wide
  const int64_t columns = std::max(p.k, p.n) / kTileColumns + 1;
  const int64_t tiles = (p.rows / kTileRows + p.experts * (p.k / kTileRows + 2)) * columns;
  const bool has_form = p.form == GroupedForm::WeightGradient || !(p.full_result || p.accumulate);
  return has_form && is_hopper() && p.k > 0 && p.k % kMultiple == 0 && p.n > 0 &&
         p.n % kMultiple == 0 && p.rows < kMost && tiles < kMost;
}

void enqueue_grouped(const GroupedProduct& p, cudaStream_t stream) {
  switch (p.form) {
    case GroupedForm::Forward:
      return launch_grouped<Config<GroupedForm::Forward, __nv_bfloat16>>(p, stream);
    case GroupedForm::InputGradient:
      return launch_grouped<Config<GroupedForm::InputGradient, __nv_bfloat16>>(p, stream);
    case GroupedForm::WeightGradient:
      if (p.full_result)
        return launch_grouped<Config<GroupedForm::WeightGradient, float>>(p, stream);
      return launch_grouped<Config<GroupedForm::WeightGradient, __nv_bfloat16>>(p, stream);
  }
}

}  // namespace tessera
