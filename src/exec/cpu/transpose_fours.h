// SPDX-License-Identifier: Apache-2.0
// Four steps of k out of as many rows as a vector has lanes, transposed: how a matrix that lies the
// other way is packed. Compiled once for each instruction set.
#if defined(TESSERA_EXEC_CPU_TRANSPOSE_FOURS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_EXEC_CPU_TRANSPOSE_FOURS_H
#undef TESSERA_EXEC_CPU_TRANSPOSE_FOURS_H
#else
#define TESSERA_EXEC_CPU_TRANSPOSE_FOURS_H
#endif

#include "exec/cpu/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// Four neighbours of a row.
struct FourNumbers {
  static TESSERA_INLINE auto load(const float* from) {
    return hn::LoadU(hn::Full128<float>(), from);
  }
  static TESSERA_INLINE auto load(const Bf16* from) {
    const hn::Full64<uint16_t> halves;
    const auto bits = hn::LoadU(halves, reinterpret_cast<const uint16_t*>(from));
    return hn::BitCast(hn::Full128<float>(),
                       hn::ShiftLeft<16>(hn::PromoteTo(hn::Full128<uint32_t>(), bits)));
  }
};

// Four words of two bf16 each, as they lie in memory.
struct FourPairs {
  static TESSERA_INLINE auto load(const Bf16* from) {
    const hn::Full128<uint16_t> halves;
    return hn::BitCast(hn::Full128<float>(),
                       hn::LoadU(halves, reinterpret_cast<const uint16_t*>(from)));
  }
};

// Four neighbours of each of rows 0, 4, 8, ..., as many as fit a vector.
template <typename Four, int bytes = HWY_MAX_BYTES, typename T>
TESSERA_INLINE auto load_fours(const T* from, int64_t stride) {
  if constexpr (bytes == 16) {
    return Four::load(from);
  } else {
    const hn::FixedTag<float, bytes / 4> tag;
    return hn::Combine(tag, load_fours<Four, bytes / 2>(from + bytes / 8 * stride, stride),
                       load_fours<Four, bytes / 2>(from, stride));
  }
}

// Four steps of k of as many columns as a vector has lanes: four vectors whose blocks of 16 bytes
// are transposed.
template <typename Four, typename T>
TESSERA_INLINE void transpose_fours(const T* from, int64_t stride, float* to, int64_t to_stride) {
  const Tag<float> tag;
  const Tag<uint64_t> pairs;
  const auto a = load_fours<Four>(from, stride), b = load_fours<Four>(from + stride, stride),
             c = load_fours<Four>(from + 2 * stride, stride),
             d = load_fours<Four>(from + 3 * stride, stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(tag, a, b)),
             ab_high = hn::BitCast(pairs, hn::InterleaveUpper(tag, a, b)),
             cd_low = hn::BitCast(pairs, hn::InterleaveLower(tag, c, d)),
             cd_high = hn::BitCast(pairs, hn::InterleaveUpper(tag, c, d));
  hn::StoreU(hn::BitCast(tag, hn::InterleaveLower(pairs, ab_low, cd_low)), tag, to);
  hn::StoreU(hn::BitCast(tag, hn::InterleaveUpper(pairs, ab_low, cd_low)), tag, to + to_stride);
  hn::StoreU(hn::BitCast(tag, hn::InterleaveLower(pairs, ab_high, cd_high)), tag,
             to + 2 * to_stride);
  hn::StoreU(hn::BitCast(tag, hn::InterleaveUpper(pairs, ab_high, cd_high)), tag,
             to + 3 * to_stride);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
