// SPDX-License-Identifier: Apache-2.0
// One body per piece, compiled for each instruction set with vectors of its width. With AVX-512 a
// strip of 6 x 64 floats fills 24 of 32 registers; narrower sets walk a panel in passes of two
// vectors, 12 of 16 registers.
#include "exec/cpu/gemm_kernels.h"

#include <algorithm>
#include <cstring>

#include "exec/cpu/simd.h"

namespace tessera {
namespace {

template <typename S, int bytes>
struct VectorOf {
  typedef S Type
      __attribute__((vector_size(bytes)));  // `using` ignores the attribute on a dependent type
};
template <typename S, int bytes>
using Vector = typename VectorOf<S, bytes>::Type;

template <typename V, typename S>
TESSERA_INLINE V load_vector(const S* from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// A row's lines of a pass, which will be written.
template <int pass_bytes, typename S>
TESSERA_INLINE void prefetch_sums(const S* c) {
#pragma GCC unroll 4
  for (int line = 0; line * 64 < pass_bytes; ++line)
    __builtin_prefetch(c + line * 64 / sizeof(S), 1);
}

// Into the first `columns` of a pass.
template <typename S, typename V, int rows, int vectors>
TESSERA_INLINE void store_sums(const Strip<S>& strip, V (&sum)[rows][vectors], S* c,
                               int64_t columns) {
  constexpr int64_t kWidth = sizeof(V) / sizeof(S);
  if (columns >= vectors * kWidth) [[likely]] {
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) {
        S* to = c + i * strip.c_row + j * kWidth;
        if (strip.add) sum[i][j] += load_vector<V>(to);
        std::memcpy(to, &sum[i][j], sizeof(V));
      }
    }
    return;
  }
  S edge[rows][vectors * kWidth];
  std::memcpy(edge, sum, sizeof(edge));
  for (int i = 0; i < rows; ++i) {
    S* to = c + i * strip.c_row;
    for (int64_t j = 0; j < columns; ++j) to[j] = strip.add ? edge[i][j] + to[j] : edge[i][j];
  }
}

// `rows` x `vectors` of C. Lines from afar, `next_rows` of the next strip among them, are asked for
// bit by bit: many at once would hold up those of B.
template <typename S, int bytes, int rows, int vectors, bool looks_ahead>
TESSERA_INLINE void multiply_pass(const Strip<S>& strip, const S* panel, S* c, int64_t columns,
                                  const S* next, int64_t next_rows) {
  using V = Vector<S, bytes>;
  constexpr int64_t kWidth = bytes / sizeof(S), kLine = 64 / sizeof(S);
  V sum[rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) sum[i][j] = V{};
    if (!looks_ahead) prefetch_sums<vectors * bytes>(c + i * strip.c_row);
  }
  const S* a = strip.a;
  const int64_t a_row = strip.a_row, a_k = strip.a_k;
  const S *sums = c, *last_sums = c + (rows - 1) * strip.c_row;
  const auto step = [&]() __attribute__((always_inline)) {
    V b[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) b[j] = load_vector<V>(panel + j * kWidth);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const V x = a[i * a_row] - V{};
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[i][j] += x * b[j];
    }
    a += a_k;
    panel += strip.b_row;
  };
  for (int64_t left = strip.k; left > 0;) {
    if (looks_ahead) {
      for (int64_t row = 0; row < next_rows; ++row) __builtin_prefetch(next + row * a_row, 0, 2);
      next += kLine;
      prefetch_sums<vectors * bytes>(sums);
      sums = sums == last_sums ? sums : sums + strip.c_row;
    }
    const int64_t steps = looks_ahead ? std::min(left, kLine) : left;
    int64_t p = 0;
    for (; p + 4 <= steps; p += 4) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) step();
    }
    for (; p < steps; ++p) step();
    left -= steps;
  }
  store_sums<S>(strip, sum, c, columns);
}

template <typename S, int bytes, int vectors, int rows, bool looks_ahead = false>
TESSERA_INLINE void multiply_rows(const Strip<S>& strip) {
  constexpr int64_t kPass = vectors * bytes / sizeof(S);
  constexpr int64_t kPanel = kPanelColumns<S>;
  const int64_t next_rows = num_blocks(kStripRows, num_blocks(strip.columns, kPanel));
  for (int64_t column = 0; column < strip.columns; column += kPass) {
    const int64_t index = column / kPanel;
    multiply_pass<S, bytes, rows, vectors, looks_ahead>(
        strip, strip.panels + index * strip.panel_size + column % kPanel, strip.c + column,
        strip.columns - column,
        looks_ahead ? strip.next_a + index * next_rows * strip.a_row : nullptr, next_rows);
  }
}

template <typename S, int bytes, int vectors>
TESSERA_INLINE void multiply(const Strip<S>& strip) {
  switch (strip.rows) {
    case 1:
      return multiply_rows<S, bytes, vectors, 1>(strip);
    case 2:
      return multiply_rows<S, bytes, vectors, 2>(strip);
    case 3:
      return multiply_rows<S, bytes, vectors, 3>(strip);
    case 4:
      return multiply_rows<S, bytes, vectors, 4>(strip);
    case 5:
      return multiply_rows<S, bytes, vectors, 5>(strip);
    default:
      if (strip.next_a) return multiply_rows<S, bytes, vectors, 6, true>(strip);
      return multiply_rows<S, bytes, vectors, 6>(strip);
  }
}

// 16 rows of 16 floats, transposed in four rounds: in each, blocks of `distance` lanes change
// places between two rows.
template <int distance>
TESSERA_INLINE void exchange_blocks(Lanes<float> (&rows)[16]) {
  LanesOf<float>::Bits low, high;
  for (int i = 0; i < 16; ++i) {
    low[i] = i & distance ? 16 + i - distance : i;
    high[i] = i & distance ? 16 + i : i + distance;
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (i & distance) continue;
    const Lanes<float> a = rows[i], b = rows[i + distance];
    rows[i] = __builtin_shuffle(a, b, low);
    rows[i + distance] = __builtin_shuffle(a, b, high);
  }
}

template <typename T>
TESSERA_INLINE void transpose_16x16(const T* from, int64_t stride, float* to, int64_t to_stride) {
  Lanes<float> rows[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) rows[i] = load_lanes(from + i * stride);
  exchange_blocks<8>(rows);
  exchange_blocks<4>(rows);
  exchange_blocks<2>(rows);
  exchange_blocks<1>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) store_lanes(to + i * to_stride, rows[i]);
}

// One panel out of a transposed B, where a column of the panel is a row in memory.
template <int bytes, typename T, typename S>
TESSERA_INLINE void pack_transposed(const Matrix<T>& b, int64_t k, int64_t columns, S* panel) {
  constexpr int64_t kPanel = kPanelColumns<S>;
  constexpr bool kShuffles = bytes == 64 && std::is_same_v<S, float>;
  for (int64_t j = 0; j < columns;) {
    const bool block = kShuffles && j + 16 <= columns;
    int64_t p = 0;
    if constexpr (kShuffles)
      for (; block && p + 16 <= k; p += 16)
        transpose_16x16(b.data + j * b.stride + p, b.stride, panel + p * kPanel + j, kPanel);
    const int64_t width = block ? 16 : 1;
    for (; p < k; ++p)
      for (int64_t i = j; i < j + width; ++i)
        panel[p * kPanel + i] = load(b.data[i * b.stride + p]);
    j += width;
  }
}

// Whole panels side by side: a row of B is read once, from one end to the other.
template <typename T, typename S>
TESSERA_INLINE void pack_whole_panels(const Matrix<T>& b, int64_t k, int64_t count, S* panels) {
  constexpr int64_t kPanel = kPanelColumns<S>;
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < kPanel; j += kLanes<S>)
        store_lanes(panels + (i * k + p) * kPanel + j,
                    load_lanes(b.data + p * b.stride + i * kPanel + j));
}

template <int bytes, typename T, typename S>
TESSERA_INLINE void pack_columns(const Matrix<T>& b, int64_t k, int64_t columns, S* panels) {
  constexpr int64_t kPanel = kPanelColumns<S>;
  const int64_t whole = columns / kPanel, rest = columns % kPanel;
  if (b.transposed)
    for (int64_t i = 0; i < whole; ++i)
      pack_transposed<bytes>(b.at(0, i * kPanel), k, kPanel, panels + i * k * kPanel);
  else
    pack_whole_panels(b, k, whole, panels);
  if (rest == 0) return;
  panels += whole * k * kPanel;
  std::fill_n(panels, k * kPanel, S{});
  const Matrix<T> last = b.at(0, whole * kPanel);
  if (b.transposed) return pack_transposed<bytes>(last, k, rest, panels);
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < rest; ++j) panels[p * kPanel + j] = load(last.data[p * b.stride + j]);
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

// Versions of one function for several instruction sets, as TESSERA_SIMD makes them, but each with
// its own body.
#define TESSERA_KERNELS(version, bytes, vectors)                                             \
  version void strip_kernel(const Strip<float>& s) { multiply<float, bytes, vectors>(s); }   \
  version void strip_kernel(const Strip<double>& s) { multiply<double, bytes, vectors>(s); } \
  version void panel_kernel(const Matrix<float>& b, int64_t k, int64_t n, float* to) {       \
    pack_columns<bytes>(b, k, n, to);                                                        \
  }                                                                                          \
  version void panel_kernel(const Matrix<Bf16>& b, int64_t k, int64_t n, float* to) {        \
    pack_columns<bytes>(b, k, n, to);                                                        \
  }                                                                                          \
  version void panel_kernel(const Matrix<double>& b, int64_t k, int64_t n, double* to) {     \
    pack_columns<bytes>(b, k, n, to);                                                        \
  }

TESSERA_VERSIONS(TESSERA_KERNELS)
#undef TESSERA_KERNELS

TESSERA_SIMD void rows_kernel(const Matrix<float>& a, int64_t m, int64_t k, float* to) {
  pack_rows(a, m, k, to);
}
TESSERA_SIMD void rows_kernel(const Matrix<Bf16>& a, int64_t m, int64_t k, float* to) {
  pack_rows(a, m, k, to);
}
TESSERA_SIMD void rows_kernel(const Matrix<double>& a, int64_t m, int64_t k, double* to) {
  pack_rows(a, m, k, to);
}

}  // namespace

void multiply_strip(const Strip<float>& strip) { strip_kernel(strip); }
void multiply_strip(const Strip<double>& strip) { strip_kernel(strip); }
void pack_panels(const Matrix<float>& b, int64_t k, int64_t n, float* to) {
  panel_kernel(b, k, n, to);
}
void pack_panels(const Matrix<Bf16>& b, int64_t k, int64_t n, float* to) {
  panel_kernel(b, k, n, to);
}
void pack_panels(const Matrix<double>& b, int64_t k, int64_t n, double* to) {
  panel_kernel(b, k, n, to);
}
void pack_strips(const Matrix<float>& a, int64_t m, int64_t k, float* to) {
  rows_kernel(a, m, k, to);
}
void pack_strips(const Matrix<Bf16>& a, int64_t m, int64_t k, float* to) {
  rows_kernel(a, m, k, to);
}
void pack_strips(const Matrix<double>& a, int64_t m, int64_t k, double* to) {
  rows_kernel(a, m, k, to);
}

}  // namespace tessera
