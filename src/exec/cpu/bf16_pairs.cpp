// SPDX-License-Identifier: Apache-2.0
// Products of bf16 with bf16 by the processor's own dots of pairs (AVX512_BF16): a word holds two
// neighbours in k, and one instruction adds both products to a sum in fp32, the later one first.
// It reads and writes subnormal numbers as zero.
#define HWY_TARGET_INCLUDE "exec/cpu/bf16_pairs.cpp"
#include <bit>

#include "exec/cpu/each_target.h"
#include "exec/cpu/strip_passes.h"
#include "exec/cpu/transpose_fours.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// Written out: an intrinsic would want a namespace of versions for this one instruction.
struct DotPairs {
  TESSERA_INLINE Vector<float> operator()(Vector<float> x, Vector<float> y,
                                          Vector<float> sum) const {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(y.raw));
    return sum;
  }
};

void strip_of_pairs(const Strip<float>& strip) { multiply_rows_of<DotPairs>(strip); }

// The word of elements p and p + 1; after the last step of k comes zero.
TESSERA_INLINE float pair_at(const Bf16* at, int64_t to_next, bool has_next) {
  const uint32_t low = at->bits, high = has_next ? at[to_next].bits : 0;
  return std::bit_cast<float>(low | high << 16);
}

// As pack_panels, with words for numbers.
void panels_of_pairs(const Matrix<Bf16>& b, int64_t k, int64_t columns, float* panels) {
  constexpr int64_t kPanel = kPanelColumns<float>, kWidth = kVectorLanes<float>;
  const int64_t words = num_blocks(k, 2), to_next = b.transposed ? 1 : b.stride;
  const Tag<uint32_t> tag;
  const hn::Rebind<uint16_t, Tag<uint32_t>> halves;
  if (columns % kPanel)
    std::fill_n(panels + columns / kPanel * words * kPanel, words * kPanel, 0.0f);
  for (int64_t j = 0; j < columns; j += kWidth) {
    const int64_t width = std::min(kWidth, columns - j);
    float* to = place_in_panel(panels + j / kPanel * words * kPanel, words, 0, j % kPanel);
    int64_t p = 0;
    if (b.transposed) {
      for (; width == kWidth && p + 4 <= k / 2; p += 4)
        transpose_fours<FourPairs>(b.at(2 * p, j).data, b.stride, to + p * kPanel, kPanel);
    } else {
      for (; width == kWidth && p < k / 2; ++p) {
        const auto* row = reinterpret_cast<const uint16_t*>(b.at(2 * p, j).data);
        const auto low = hn::PromoteTo(tag, hn::LoadU(halves, row)),
                   high = hn::PromoteTo(tag, hn::LoadU(halves, row + b.stride));
        hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), tag,
                   reinterpret_cast<uint32_t*>(to + p * kPanel));
      }
    }
    for (; p < words; ++p)
      for (int64_t i = 0; i < width; ++i)
        to[p * kPanel + i] = pair_at(b.at(2 * p, j + i).data, to_next, 2 * p + 1 < k);
  }
}

// As pack_strips, with words for numbers.
void strips_of_pairs(const Matrix<Bf16>& a, int64_t rows, int64_t k, float* packed) {
  const int64_t words = num_blocks(k, 2), to_next = a.transposed ? a.stride : 1;
  for (int64_t row = 0; row < rows; row += kStripRows) {
    const int64_t height = std::min(rows - row, kStripRows);
    float* to = packed + row * words;
    for (int64_t p = 0; p < words; ++p)
      for (int64_t i = 0; i < height; ++i)
        to[p * kStripRows + i] = pair_at(a.at(row + i, 2 * p).data, to_next, 2 * p + 1 < k);
  }
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace tessera {

bool multiplies_pairs() { return cpu_target() >= CpuTarget::Avx512Bf16; }

void multiply_pair_strip(const Strip<float>& strip) {
  void (*const kernel)(const Strip<float>&) = HWY_CHOOSE_AVX3(strip_of_pairs);
  kernel(strip);
}
void pack_pair_panels(const Matrix<Bf16>& b, int64_t k, int64_t columns, float* panels) {
  void (*const kernel)(const Matrix<Bf16>&, int64_t, int64_t, float*) =
      HWY_CHOOSE_AVX3(panels_of_pairs);
  kernel(b, k, columns, panels);
}
void pack_pair_strips(const Matrix<Bf16>& a, int64_t rows, int64_t k, float* packed) {
  void (*const kernel)(const Matrix<Bf16>&, int64_t, int64_t, float*) =
      HWY_CHOOSE_AVX3(strips_of_pairs);
  kernel(a, rows, k, packed);
}

}  // namespace tessera
#endif
