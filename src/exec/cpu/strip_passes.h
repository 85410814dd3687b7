// SPDX-License-Identifier: Apache-2.0
// The inner loops of a matrix product: a strip of C in passes whose sums stay in registers, each
// step one multiply-add for each vector of sums. Compiled once for each instruction set.
#if defined(TESSERA_EXEC_CPU_STRIP_PASSES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_EXEC_CPU_STRIP_PASSES_H
#undef TESSERA_EXEC_CPU_STRIP_PASSES_H
#else
#define TESSERA_EXEC_CPU_STRIP_PASSES_H
#endif

#include <algorithm>

#include "exec/cpu/panel_passes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

struct MultiplyAdd {
  template <typename V>
  TESSERA_INLINE V operator()(V x, V y, V sum) const {
    return hn::MulAdd(x, y, sum);
  }
};

// A row's lines of a pass, which will be written.
template <typename S>
TESSERA_INLINE void prefetch_sums(const S* c) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < kPassColumns<S>; i += 64 / sizeof(S)) __builtin_prefetch(c + i, 1);
}

// Into the first `columns` of a pass.
template <typename S, int rows>
TESSERA_INLINE void store_sums(const Strip<S>& strip, Vector<S> (&sum)[rows][kPassVectors], S* c,
                               int64_t columns) {
  constexpr int64_t kWidth = kVectorLanes<S>, kPass = kPassColumns<S>;
  const Tag<S> tag;
  if (columns >= kPass) [[likely]] {
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kPassVectors; ++j) {
        S* to = c + i * strip.c_row + j * kWidth;
        if (strip.add) sum[i][j] = hn::Add(sum[i][j], hn::LoadU(tag, to));
        hn::StoreU(sum[i][j], tag, to);
      }
    }
    return;
  }
  alignas(64) S edge[rows][kPass];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kPassVectors; ++j) hn::Store(sum[i][j], tag, edge[i] + j * kWidth);
  }
  for (int i = 0; i < rows; ++i) {
    S* to = c + i * strip.c_row;
    for (int64_t j = 0; j < columns; ++j) to[j] = strip.add ? edge[i][j] + to[j] : edge[i][j];
  }
}

// kPassColumns of a strip.
template <typename S>
struct StripPass {
  const S* b;
  int64_t b_row;  // from one step of k to the next
  S* c;
  int64_t columns;    // that C has from here on
  int64_t next_rows;  // of the next strip of A, fetched meanwhile
  const S* next;
};

// Lines from afar are asked for bit by bit: many at once would hold up those of B.
template <typename Step, typename S, int rows, bool looks_ahead>
TESSERA_INLINE void multiply_pass(const Strip<S>& strip, const StripPass<S>& pass) {
  constexpr int64_t kWidth = kVectorLanes<S>, kLine = 64 / sizeof(S);
  const Tag<S> tag;
  Vector<S> sum[rows][kPassVectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kPassVectors; ++j) sum[i][j] = hn::Zero(tag);
    if (!looks_ahead) prefetch_sums(pass.c + i * strip.c_row);
  }
  // Two pointers into A and one stride address all its rows without arithmetic.
  const int64_t a_row = strip.a_row, a_k = strip.a_k;
  const S *a = strip.a, *a_from_3 = strip.a + 3 * a_row;
  const S *b_at = pass.b, *next = pass.next;
  const int64_t b_row = pass.b_row, next_rows = pass.next_rows;
  S* const c = pass.c;
  const S *sums = c, *last_sums = c + (rows - 1) * strip.c_row;
  const auto step = [&]() __attribute__((always_inline)) HWY_ATTR {
    Vector<S> b[kPassVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kPassVectors; ++j) b[j] = hn::LoadU(tag, b_at + j * kWidth);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const Vector<S> x = hn::Set(tag, i < 3 ? a[i * a_row] : a_from_3[(i - 3) * a_row]);
#pragma GCC unroll 4
      for (int j = 0; j < kPassVectors; ++j) sum[i][j] = Step()(x, b[j], sum[i][j]);
    }
    a += a_k, a_from_3 += a_k;
    b_at += b_row;
  };
  for (int64_t left = strip.k; left > 0;) {
    if (looks_ahead) {
      for (int64_t row = 0; row < next_rows; ++row) __builtin_prefetch(next + row * a_row, 0, 2);
      next += kLine;
      prefetch_sums(sums);
      sums = sums == last_sums ? sums : sums + strip.c_row;
    }
    const int64_t steps = looks_ahead ? std::min(left, kLine) : left;
    for (int64_t p = 0; p < steps; ++p) step();
    left -= steps;
  }
  store_sums<S, rows>(strip, sum, c, pass.columns);
}

// The next strip of A is asked for in the first passes.
template <typename Step, typename S, int rows, bool looks_ahead = false>
TESSERA_INLINE void multiply_rows(const Strip<S>& strip) {
  constexpr int64_t kPass = kPassColumns<S>, kPanel = kPanelColumns<S>;
  const int64_t next_rows = num_blocks(kStripRows, num_blocks(strip.columns, kPass));
  for (int64_t column = 0, row = 0; column < strip.columns; column += kPass, row += next_rows) {
    const S* panel = strip.panels + column / kPanel * strip.packed_k * kPanel;
    const StripPass<S> pass{
        .b = strip.b_row ? strip.panels + column
                         : place_in_panel(panel, strip.packed_k, strip.first_k, column % kPanel),
        .b_row = strip.b_row ? strip.b_row : kPass,
        .c = strip.c + column,
        .columns = strip.columns - column,
        .next_rows = next_rows,
        .next = looks_ahead ? strip.next_a + row * strip.a_row : nullptr};
    if (looks_ahead && row < kStripRows)
      multiply_pass<Step, S, rows, true>(strip, pass);
    else
      multiply_pass<Step, S, rows, false>(strip, pass);
  }
}

template <typename Step, typename S>
TESSERA_INLINE void multiply_rows_of(const Strip<S>& strip) {
  switch (strip.rows) {
    case 1:
      return multiply_rows<Step, S, 1>(strip);
    case 2:
      return multiply_rows<Step, S, 2>(strip);
    case 3:
      return multiply_rows<Step, S, 3>(strip);
    case 4:
      return multiply_rows<Step, S, 4>(strip);
    case 5:
      return multiply_rows<Step, S, 5>(strip);
    default:
      if (strip.next_a) return multiply_rows<Step, S, 6, true>(strip);
      return multiply_rows<Step, S, 6>(strip);
  }
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
