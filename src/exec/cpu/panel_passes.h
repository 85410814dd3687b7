// SPDX-License-Identifier: Apache-2.0
// How a packed panel lies in memory: in passes, as wide as the registers allow, each with all its
// steps of k. A core then reads one stretch of memory from end to end. Compiled once for each
// instruction set.
#if defined(TESSERA_EXEC_CPU_PANEL_PASSES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_EXEC_CPU_PANEL_PASSES_H
#undef TESSERA_EXEC_CPU_PANEL_PASSES_H
#else
#define TESSERA_EXEC_CPU_PANEL_PASSES_H
#endif

#include "exec/cpu/gemm_kernels.h"
#include "exec/cpu/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// Where there are 32 registers, 6 rows by 4 vectors of sums fill 24 of them; of 16 registers, two
// vectors take 12.
inline constexpr int kPassVectors = HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 ? 2 : 4;
template <typename S>
inline constexpr int64_t kPassColumns = kPassVectors* kVectorLanes<S>;

// Where element (p, column) of a panel of k steps lies.
template <typename S>
TESSERA_INLINE S* place_in_panel(S* panel, int64_t k, int64_t p, int64_t column) {
  constexpr int64_t kPass = kPassColumns<S>;
  return panel + (column / kPass * k + p) * kPass + column % kPass;
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
