// SPDX-License-Identifier: Apache-2.0
// Grouped products of 8-bit floats: stages of 128 terms, tiles of 128 columns. Tensor cores keep
// about 14 bits of a sum, so what a stage gives is added to fp32 sums outside of them, times the
// scales of its tiles and blocks, where there are some; meanwhile the other warpgroup multiplies.
#include "exec/cuda/grouped_fp8_product.h"
#include "exec/cuda/grouped_kernel.h"
#include "exec/cuda/wgmma.h"

namespace tessera {
namespace {

constexpr int kRowBytes = 128;  // of a stage: 128 terms
constexpr int kFp8Columns = 128, kOperandBytes = kTileRows * kRowBytes;
constexpr int kFp8Sums = kFp8Columns / 2;

struct Fp8Sizes : GroupedSizes {
  const float *a_scale, *b_scale;
  int64_t scale_rows;  // of a's scales by tile
  int64_t block_step;  // from an expert's scales of blocks to the next one's
  int block_row;       // scales of a row of blocks
};

// Bytes of a row that are not of [begin, end) become zeros: they are another expert's. By all
// consumers, a row of either operand each.
__device__ inline void keep_terms(uint32_t stage, int begin, int end) {
  const int row = static_cast<int>(threadIdx.x) - kGroupThreads;
  for (int piece = 0; piece < kRowBytes / 16; ++piece) {
    const int first = 16 * piece;
    if (first >= begin && first + 16 <= end) continue;
    const uint32_t at = stage + row * kRowBytes + (piece ^ (row & 7)) * 16;
    uint4 v = read_shared(at);
    uint32_t* const words[4] = {&v.x, &v.y, &v.z, &v.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      uint32_t mask = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int term = first + 4 * w + i;
        mask |= term >= begin && term < end ? 0xffu << 8 * i : 0;
      }
      *words[w] &= mask;
    }
    write_shared(at, v);
  }
  publish_to_consumers();
}

template <Fp8 kA, Fp8 kB>
__device__ inline void begin_product(float (&part)[kFp8Sums], uint64_t a, uint64_t b) {
  if constexpr (kA == Fp8::E5m2)
    begin_e5m2_e4m3(part, a, b);
  else if constexpr (kB == Fp8::E5m2)
    begin_e4m3_e5m2(part, a, b);
  else
    begin_e4m3_e4m3(part, a, b);
}
template <Fp8 kA, Fp8 kB>
__device__ inline void add_terms_product(float (&part)[kFp8Sums], uint64_t a, uint64_t b) {
  if constexpr (kA == Fp8::E5m2)
    add_e5m2_e4m3(part, a, b);
  else if constexpr (kB == Fp8::E5m2)
    add_e4m3_e5m2(part, a, b);
  else
    add_e4m3_e4m3(part, a, b);
}

// `kApart`: scales of tiles of a, and of blocks of weights or of tiles of b.
template <bool kByTermsOf, Fp8 kA, Fp8 kB, bool kApart, typename ResultOf>
struct Fp8Grouped {
  using Result = ResultOf;
  using Sizes = Fp8Sizes;
  using Shared = GroupedMemory<Fp8Grouped>;
  static constexpr bool kByTerms = kByTermsOf;
  static constexpr int kColumns = kFp8Columns, kStages = 6, kStageBytes = 2 * kOperandBytes;
  using Place = StageRing<kStages>;

  // Where the stages of a tile begin among the terms: tiles of scales begin there too.
  static __device__ int first_term(const GroupedTile& tile) {
    return tile.term / kRowBytes * kRowBytes;
  }
  static __device__ int steps(const GroupedTile& tile) {
    if (tile.terms == 0) return 0;
    return (tile.term + tile.terms - first_term(tile) + kRowBytes - 1) / kRowBytes;
  }

  static __device__ void copy_stage(const CUtensorMap& a, const CUtensorMap& b,
                                    const GroupedTile& tile, int step, uint32_t to, uint32_t full) {
    const int term = first_term(tile) + step * kRowBytes;
    copy_box(to, a, term, tile.row, 0, 0, full);
    copy_box(to + kOperandBytes, b, term, tile.column, kByTerms ? 0 : tile.expert, 0, full);
  }

  // sums += part times the scales of the stage's tiles.
  static __device__ void add_scaled(float (&sums)[kFp8Sums], const float (&part)[kFp8Sums],
                                    const float (&rows)[2], const float* columns) {
#pragma unroll
    for (int i = 0; i < kFp8Sums; ++i) {
      const float scale = kByTerms ? rows[i / 2 % 2] * columns[i / 4 * 2 + i % 2] : rows[i / 2 % 2];
      sums[i] += part[i] * scale;
    }
  }

  // Of the lane's two rows and, by terms, of its columns. Outside of the tile anything is right.
  static __device__ void load_scales(const Sizes& sizes, const GroupedTile& tile, int row,
                                     int tile_of_k, float (&rows)[2], float* columns) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int64_t last = sizes.scale_rows - 1;
    const float* a = sizes.a_scale + tile_of_k * sizes.scale_rows;
    const int64_t first = tile.row + row + lane / 4;
    rows[0] = __ldg(a + min(first, last));
    rows[1] = __ldg(a + min(first + 8, last));
    if constexpr (kByTerms) {
      const float* b = sizes.b_scale + static_cast<int64_t>(tile_of_k) * sizes.n;
#pragma unroll
      for (int i = 0; i < kFp8Columns / 8; ++i) {
        const int column = min(tile.column + 8 * i + 2 * (lane % 4), sizes.n - 2);
        const float2 pair = __ldg(reinterpret_cast<const float2*>(b + column));
        columns[2 * i] = pair.x, columns[2 * i + 1] = pair.y;
      }
    } else {
      const float block = __ldg(sizes.b_scale + tile.expert * sizes.block_step +
                                tile.column / kFp8Columns * sizes.block_row + tile_of_k);
      rows[0] *= block, rows[1] *= block;
    }
  }

  static __device__ void multiply_stage(float (&part)[kFp8Sums], uint32_t stage, int group) {
    const uint64_t a = tile_descriptor(stage + group * 64 * kRowBytes);
    const uint64_t b = tile_descriptor(stage + kOperandBytes);
    begin_products();
    begin_product<kA, kB>(part, a, b);
#pragma unroll
    for (int i = 1; i < kRowBytes / kFp8Terms; ++i)
      add_terms_product<kA, kB>(part, a + i * (kFp8Terms >> 4), b + i * (kFp8Terms >> 4));
    end_product_group();
  }

  static __device__ void sum_tile(float (&sums)[kFp8Sums], const Shared& shared, Place& place,
                                  int group, const GroupedTile& tile, const Sizes& sizes,
                                  bool active) {
#pragma unroll
    for (float& sum : sums) sum = 0;
    const int count = steps(tile), row = static_cast<int>(threadIdx.x / 32 - 4) * 16;
    for (int s = 0; s < count; ++s, place.advance()) {
      const uint32_t stage = shared.stages + place.stage * kStageBytes;
      const uint32_t empty = shared.empty + 8 * place.stage;
      wait_for_phase(shared.full + 8 * place.stage, place.parity);
      const int term = first_term(tile) + s * kRowBytes;
      if constexpr (kByTerms) {
        const int begin = max(tile.term - term, 0),
                  end = min(tile.term + tile.terms - term, kRowBytes);
        if (begin > 0 || end < kRowBytes) keep_terms(stage, begin, end);
      }
      if (!active) {
        release(empty);
        continue;
      }
      float part[kFp8Sums], rows[2] = {1, 1}, columns[kByTerms && kApart ? kFp8Columns / 4 : 1];
      multiply_stage(part, stage, group);
      if constexpr (kApart) load_scales(sizes, tile, row, term / kRowBytes, rows, columns);
      wait_for_products<0>();
      pin(part);
      release(empty);
      if constexpr (kApart) {
        add_scaled(sums, part, rows, columns);
      } else {
#pragma unroll
        for (int i = 0; i < kFp8Sums; ++i) sums[i] += part[i];
      }
    }
    if constexpr (!kApart) {
      const float scale = *sizes.a_scale * *sizes.b_scale;
#pragma unroll
      for (float& sum : sums) sum *= scale;
    }
  }
};

template <typename C>
void launch_fp8(const GroupedFp8Product& p, cudaStream_t stream) {
  const int64_t blocks = padded_fp8_blocks(p.k);
  Fp8Sizes sizes{};
  sizes.ends = p.ends;
  sizes.experts = static_cast<int>(p.experts);
  sizes.m = static_cast<int>(p.k);
  sizes.n = static_cast<int>(p.n);
  sizes.k = static_cast<int>(p.k);
  sizes.accumulate = p.accumulate;
  sizes.a_scale = p.a_scale;
  sizes.b_scale = p.b_scale;
  sizes.scale_rows = C::kByTerms ? p.k : p.rows;
  sizes.block_step = fp8_tiles(p.n) * blocks;
  sizes.block_row = static_cast<int>(blocks);
  const auto map = [](const void* data, int64_t count, int64_t outer, int64_t inner) {
    return make_byte_tensor_map(data, {inner, outer, count, 1}, kTileRows);
  };
  const CUtensorMap a = C::kByTerms ? map(p.a, 1, p.k, p.rows) : map(p.a, 1, p.rows, p.k);
  const CUtensorMap b = C::kByTerms ? map(p.b, 1, p.n, p.rows) : map(p.b, p.experts, p.n, p.k);
  launch_grouped<C>(a, b, sizes, p.c, stream);
}

template <bool kByTerms, Fp8 kA, Fp8 kB, bool kApart>
void choose_result(const GroupedFp8Product& p, cudaStream_t stream) {
  if constexpr (kByTerms)
    if (p.full_result) return launch_fp8<Fp8Grouped<kByTerms, kA, kB, kApart, float>>(p, stream);
  launch_fp8<Fp8Grouped<kByTerms, kA, kB, kApart, __nv_bfloat16>>(p, stream);
}

template <bool kByTerms, bool kApart>
void choose_formats(const GroupedFp8Product& p, cudaStream_t stream) {
  if (p.a_format == Fp8::E5m2)
    return choose_result<kByTerms, Fp8::E5m2, Fp8::E4m3, kApart>(p, stream);
  if constexpr (kByTerms)
    if (p.b_format == Fp8::E5m2)
      return choose_result<kByTerms, Fp8::E4m3, Fp8::E5m2, kApart>(p, stream);
  choose_result<kByTerms, Fp8::E4m3, Fp8::E4m3, kApart>(p, stream);
}

}  // namespace

bool can_group(const GroupedFp8Product& p) {
  constexpr int64_t kMultiple = 16, kMost = int64_t{1} << 30;  // bytes; indices are 32 bits wide
  const int64_t columns = std::max(p.k, p.n) / kFp8Columns + 1;
  const int64_t tiles = (p.rows / kTileRows + p.experts * (p.k / kTileRows + 2)) * columns;
  const bool both_e5m2 = p.a_format == Fp8::E5m2 && p.b_format == Fp8::E5m2;
  const bool e5m2_weights = !p.by_terms && p.b_format == Fp8::E5m2;
  const bool has_form = p.by_terms || !(p.full_result || p.accumulate);
  return has_form && !both_e5m2 && !e5m2_weights && is_hopper() && p.k % kMultiple == 0 &&
         p.n % kMultiple == 0 && p.rows % kMultiple == 0 && p.rows < kMost && tiles < kMost;
}

void enqueue_grouped(const GroupedFp8Product& p, cudaStream_t stream) {
  if (p.by_terms)
    return p.scaled_apart ? choose_formats<true, true>(p, stream)
                          : choose_formats<true, false>(p, stream);
  if (p.scaled_apart) return choose_formats<false, true>(p, stream);
  choose_formats<false, false>(p, stream);
}

}  // namespace tessera
