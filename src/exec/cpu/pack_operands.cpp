// SPDX-License-Identifier: Apache-2.0
// The operands of a matrix product in the order in which its inner loops read them: B as panels, A
// as strips. Compiled for each instruction set.
#define HWY_TARGET_INCLUDE "exec/cpu/pack_operands.cpp"
#include <algorithm>
#include <cstring>

#include "exec/cpu/each_target.h"
#include "exec/cpu/panel_passes.h"
#include "exec/cpu/transpose_fours.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// One panel out of a transposed B, where a column of the panel is a row in memory.
template <typename T, typename S>
TESSERA_INLINE void pack_transposed(const Matrix<T>& b, int64_t k, int64_t columns, S* panel) {
  constexpr int64_t kPass = kPassColumns<S>, kWidth = kVectorLanes<S>;
  for (int64_t j = 0; j < columns; j += kWidth) {
    const int64_t width = std::min(kWidth, columns - j);
    const T* from = b.data + j * b.stride;
    S* to = place_in_panel(panel, k, 0, j);
    int64_t p = 0;
    if constexpr (std::is_same_v<S, float>)
      for (; width == kWidth && p + 4 <= k; p += 4)
        transpose_fours<FourNumbers>(from + p, b.stride, to + p * kPass, kPass);
    for (; p < k; ++p)
      for (int64_t i = 0; i < width; ++i) to[p * kPass + i] = load(from[i * b.stride + p]);
  }
}

// Whole panels side by side: a few rows of B at a time are read from one end to the other.
template <typename T, typename S>
TESSERA_INLINE void pack_whole_panels(const Matrix<T>& b, int64_t k, int64_t count, S* panels) {
  constexpr int64_t kPanel = kPanelColumns<S>, kPass = kPassColumns<S>, kRows = 8;
  for (int64_t first = 0; first < k; first += kRows) {
    const int64_t last = std::min(first + kRows, k);
    for (int64_t j = 0; j < count * kPanel; j += kPass) {
      S* to = place_in_panel(panels + j / kPanel * k * kPanel, k, 0, j % kPanel);
      for (int64_t p = first; p < last; ++p)
#pragma GCC unroll 4
        for (int i = 0; i < kPassVectors; ++i)
          hn::StoreU(load_vector(b.data + p * b.stride + j + i * kVectorLanes<S>), Tag<S>(),
                     to + p * kPass + i * kVectorLanes<S>);
    }
  }
}

template <typename T, typename S>
TESSERA_INLINE void pack_columns(const Matrix<T>& b, int64_t k, int64_t columns, S* panels) {
  constexpr int64_t kPanel = kPanelColumns<S>;
  const int64_t whole = columns / kPanel, rest = columns % kPanel;
  if (b.transposed)
    for (int64_t i = 0; i < whole; ++i)
      pack_transposed(b.at(0, i * kPanel), k, kPanel, panels + i * k * kPanel);
  else
    pack_whole_panels(b, k, whole, panels);
  if (rest == 0) return;
  panels += whole * k * kPanel;
  std::fill_n(panels, k * kPanel, S{});
  const Matrix<T> last = b.at(0, whole * kPanel);
  if (b.transposed) return pack_transposed(last, k, rest, panels);
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < rest; ++j)
      *place_in_panel(panels, k, p, j) = load(last.data[p * b.stride + j]);
}

// Steps of k of a strip out of a transposed A. Where eight elements may be read, they are copied at
// once: the last two are overwritten by the next step's first.
template <typename T, typename S>
TESSERA_INLINE void copy_steps(const T* from, int64_t stride, int64_t steps, bool eight, S* to) {
  static_assert(kStripRows == 6);
  int64_t p = 0;
  if constexpr (std::is_same_v<T, S>) {
    for (; eight && p + 1 < steps; ++p) std::memcpy(to + p * 6, from + p * stride, 8 * sizeof(S));
    for (; p < steps; ++p) std::memcpy(to + p * 6, from + p * stride, 6 * sizeof(S));
  } else {
    for (; p < steps; ++p)
      for (int64_t i = 0; i < 6; ++i) to[p * 6 + i] = load(from[p * stride + i]);
  }
}

template <typename T, typename S>
TESSERA_INLINE void pack_rows(const Matrix<T>& a, int64_t rows, int64_t k, S* packed) {
  // Steps of k taken together, so that neither the lines read nor those written leave the cache.
  constexpr int64_t kSteps = 8;
  for (int64_t first = 0; first < k; first += kSteps) {
    const int64_t last = std::min(first + kSteps, k);
    if (a.transposed && last + kSteps <= k)
      for (int64_t p = last; p < last + kSteps; ++p)
        for (int64_t i = 0; i < rows; i += 64 / sizeof(T))
          __builtin_prefetch(a.data + p * a.stride + i);
    for (int64_t row = 0; row < rows; row += kStripRows) {
      const int64_t height = std::min(rows - row, kStripRows);
      const Matrix<T> strip = a.at(row, 0);
      const int64_t i_step = a.transposed ? 1 : a.stride, p_step = a.transposed ? a.stride : 1;
      S* to = packed + row * k;
      if (height == kStripRows && a.transposed) {
        copy_steps(strip.data + first * a.stride, a.stride, last - first, row + 8 <= rows,
                   to + first * kStripRows);
      } else {
        for (int64_t p = first; p < last; ++p)
          for (int64_t i = 0; i < height; ++i)
            to[p * kStripRows + i] = load(strip.data[p * p_step + i * i_step]);
      }
    }
  }
}

}  // namespace

#define TESSERA_PACKS(name, T, S)                                                 \
  void name##_panels(const Matrix<T>& b, int64_t k, int64_t columns, S* panels) { \
    pack_columns(b, k, columns, panels);                                          \
  }                                                                               \
  void name##_strips(const Matrix<T>& a, int64_t rows, int64_t k, S* packed) {    \
    pack_rows(a, rows, k, packed);                                                \
  }
TESSERA_PACKS(floats, float, float)
TESSERA_PACKS(halves, Bf16, float)
TESSERA_PACKS(doubles, double, double)
#undef TESSERA_PACKS

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

#define TESSERA_PACKS(name, T, S)                                               \
  void pack_panels(const Matrix<T>& b, int64_t k, int64_t columns, S* panels) { \
    TESSERA_VERSION(name##_panels)(b, k, columns, panels);                      \
  }                                                                             \
  void pack_strips(const Matrix<T>& a, int64_t rows, int64_t k, S* packed) {    \
    TESSERA_VERSION(name##_strips)(a, rows, k, packed);                         \
  }
TESSERA_PACKS(floats, float, float)
TESSERA_PACKS(halves, Bf16, float)
TESSERA_PACKS(doubles, double, double)
#undef TESSERA_PACKS

}  // namespace tessera
#endif
