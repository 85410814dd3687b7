// SPDX-License-Identifier: Apache-2.0
// Grouped products of bf16: stages of 64 terms, tiles of 256 columns.
#include <algorithm>

#include "exec/cuda/grouped_kernel.h"
#include "exec/cuda/wgmma.h"

namespace tessera {
namespace {

constexpr int kChunksA = kTileRows / kChunk, kChunksB = kTileColumns / kChunk;

template <Lies kLies>
struct BoxPlace {
  int x, y;
  __device__ BoxPlace(int vector, int term)
      : x(kLies == Lies::TermsTogether ? term : vector),
        y(kLies == Lies::TermsTogether ? vector : term) {}
};

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
  publish_to_consumers();
}

template <GroupedForm kForm, typename ResultOf>
struct Bf16Grouped {
  using Result = ResultOf;
  using Sizes = GroupedSizes;
  using Shared = GroupedMemory<Bf16Grouped>;
  static constexpr bool kByTerms = kForm == GroupedForm::WeightGradient;
  static constexpr Lies kA = kByTerms ? Lies::VectorsTogether : Lies::TermsTogether;
  static constexpr Lies kB =
      kForm == GroupedForm::InputGradient ? Lies::TermsTogether : Lies::VectorsTogether;
  static constexpr int kColumns = kTileColumns, kStages = 4;
  static constexpr int kStageBytes = (kChunksA + kChunksB) * kChunkBytes;
  using Place = StageRing<kStages>;
  static constexpr int kSums = kColumns / 2;

  static __device__ int steps(const GroupedTile& tile) {
    return (tile.terms + kChunk - 1) / kChunk;
  }

  static __device__ void copy_stage(const CUtensorMap& a, const CUtensorMap& b,
                                    const GroupedTile& tile, int step, uint32_t to, uint32_t full) {
    const int term = tile.term + step * kChunk;
    for (int i = 0; i < kChunksA; ++i, to += kChunkBytes) {
      const BoxPlace<kA> box(tile.row + i * kChunk, term);
      copy_box(to, a, box.x, box.y, 0, 0, full);
    }
    for (int i = 0; i < kChunksB; ++i, to += kChunkBytes) {
      const BoxPlace<kB> box(tile.column + i * kChunk, term);
      copy_box(to, b, box.x, box.y, kByTerms ? 0 : tile.expert, 0, full);
    }
  }

  static __device__ void multiply_terms(float (&sums)[kSums], uint32_t stage, int group, int i,
                                        bool add) {
    const uint64_t a = tile_descriptor(stage + group * kChunkBytes);
    const uint64_t b = tile_descriptor(stage + kChunksA * kChunkBytes);
    multiply_tiles<kA, kB>(sums, a + i * kTermsStep<kA>, b + i * kTermsStep<kB>, add);
  }

  // The last terms of an expert, fewer than a stage has.
  static __device__ void add_last_terms(float (&sums)[kSums], const Shared& shared, Place& place,
                                        int group, int inside, bool active) {
    const uint32_t stage = shared.stages + place.stage * kStageBytes;
    wait_for_phase(shared.full + 8 * place.stage, place.parity);
    if (inside % kTerms != 0) clear_terms(stage, inside);
    if (active) {
#pragma unroll 1
      for (int i = 0; i * kTerms < inside; ++i) {
        begin_products();
        multiply_terms(sums, stage, group, i, true);
        end_product_group();
        wait_for_products<0>();
      }
    }
    release(shared.empty + 8 * place.stage);
    place.advance();
  }

  static __device__ void sum_tile(float (&sums)[kSums], const Shared& shared, Place& place,
                                  int group, const GroupedTile& tile, const Sizes&, bool active) {
    const int stages = kByTerms ? tile.terms / kChunk : steps(tile);
    if (kByTerms)
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
        multiply_terms(sums, stage, group, i, kByTerms || s + i > 0);
      end_product_group();
      wait_for_products<1>();
      if (s > 0) release(before);
      before = empty;
    }
    wait_for_products<0>();
    if (active && stages > 0) release(before);
    if (kByTerms && tile.terms % kChunk != 0)
      add_last_terms(sums, shared, place, group, tile.terms % kChunk, active);
  }
};

// Of bf16 [count, outer, inner], in boxes of 64 by 64.
CUtensorMap map_of(const void* data, int64_t count, int64_t outer, int64_t inner) {
  return make_tensor_map(data, {inner, outer, count, 1}, 1, kChunk);
}

template <typename C>
void launch_bf16(const GroupedProduct& p, cudaStream_t stream) {
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
  launch_grouped<C>(a, b, sizes, p.c, stream);
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
      return launch_bf16<Bf16Grouped<GroupedForm::Forward, __nv_bfloat16>>(p, stream);
    case GroupedForm::InputGradient:
      return launch_bf16<Bf16Grouped<GroupedForm::InputGradient, __nv_bfloat16>>(p, stream);
    case GroupedForm::WeightGradient:
      if (p.full_result)
        return launch_bf16<Bf16Grouped<GroupedForm::WeightGradient, float>>(p, stream);
      return launch_bf16<Bf16Grouped<GroupedForm::WeightGradient, __nv_bfloat16>>(p, stream);
  }
}

}  // namespace tessera
