// SPDX-License-Identifier: Apache-2.0
// Sums whose order depends only on the number of terms: along a row, and over rows from the partial
// sums of their chunks.
#if defined(TESSERA_OPS_FIXED_ORDER_SUMS_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_OPS_FIXED_ORDER_SUMS_CPU_H
#undef TESSERA_OPS_FIXED_ORDER_SUMS_CPU_H
#else
#define TESSERA_OPS_FIXED_ORDER_SUMS_CPU_H
#endif

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/lanes.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// The sum over i < count of term(x[i]...), computed in S. Four vectors of lanes side by side, then
// a fixed tree, then the tail.
template <typename S, typename F, typename... T>
TESSERA_INLINE S sum_terms(int64_t count, const F& term, const T*... x) {
  constexpr int64_t kWidth = kLanes<S>;
  Lanes<S> sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth)
    for (int64_t k = 0; k < 4; ++k) sums[k] += term(load_lanes_as<S>(x + i + k * kWidth)...);
  for (; i + kWidth <= count; i += kWidth) sums[0] += term(load_lanes_as<S>(x + i)...);
  S tail = 0;
  for (; i < count; ++i) tail += term(static_cast<S>(load(x[i]))...);
  return sum_lanes<S>((sums[0] + sums[1]) + (sums[2] + sums[3])) + tail;
}

// The sum of piece(begin, end) over the pieces of [0, count); one double of workspace per piece.
template <typename Piece>
double sum_pieces(const CpuCall& call, int64_t count, Piece&& piece) {
  double* partials = reinterpret_cast<double*>(call.workspace.data());
  call.threads.run_ranges(count, kPieceElements, [&](int64_t begin, int64_t end, int) {
    partials[begin / kPieceElements] = piece(begin, end);
  });
  double sum = 0;
  for (int64_t i = 0; i < num_pieces(count); ++i) sum += partials[i];
  return sum;
}

// out[c] = (what was there, if `accumulate`) + partials[0][c] + partials[1][c] + ...
template <typename A, typename T>
void add_partial_rows(ThreadPool& threads, const A* partials, int64_t count, int64_t cols, T* out,
                      bool accumulate) {
  constexpr int64_t kBlock = 512;
  threads.run_ranges(cols, kBlock, [&](int64_t begin, int64_t end, int) {
    A sums[kBlock] = {};
    for (int64_t chunk = 0; chunk < count; ++chunk)
      for (int64_t c = begin; c < end; ++c) sums[c - begin] += partials[chunk * cols + c];
    for (int64_t c = begin; c < end; ++c) {
      const auto before = accumulate ? load(out[c]) : Accumulator<T>{0};
      out[c] = store<T>(before + static_cast<Accumulator<T>>(sums[c - begin]));
    }
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
