// SPDX-License-Identifier: Apache-2.0
// Products of very few rows, as generation has them: B passes through the cores once, as it lies in
// memory, and nothing is packed. An element has the bits that it has among many rows. Compiled for
// each instruction set.
#define HWY_TARGET_INCLUDE "exec/cpu/thin_product.cpp"
#include "exec/cpu/thin_product.h"

#include <algorithm>

#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

constexpr int64_t kDepthAtOnce = 8;  // rows of B that are added in one pass over a row of sums

template <typename S>
TESSERA_INLINE Lanes<S> multiply_add(const Lanes<S>& x, const Lanes<S>& y, const Lanes<S>& sum) {
  return Lanes<S>::by_part([](auto a, auto b, auto c) HWY_ATTR { return hn::MulAdd(a, b, c); }, x,
                           y, sum);
}

// sums[j] += a[0] b[0][j] + a[1] b[1][j] + ..., one multiply-add after the other.
template <int64_t kDepth, typename S, typename B>
TESSERA_INLINE void add_rows(const S* a, const B* b, int64_t stride, int64_t columns, S* sums) {
  const int64_t whole = columns / kLanes<S> * kLanes<S>;
  Lanes<S> factors[kDepth];
  for (int64_t d = 0; d < kDepth; ++d) factors[d] = Lanes<S>(a[d]);
  for (int64_t j = 0; j < whole; j += kLanes<S>) {
    Lanes<S> sum = load_lanes(sums + j);
    for (int64_t d = 0; d < kDepth; ++d)
      sum = multiply_add(factors[d], load_lanes(b + d * stride + j), sum);
    store_lanes(sums + j, sum);
  }
  if (whole == columns) return;
  // The last ones beside zeros, so that they are multiplied and added as the others are.
  S last[kLanes<S>] = {};
  B row[kLanes<S>] = {};
  std::copy_n(sums + whole, columns - whole, last);
  Lanes<S> sum = load_lanes(last);
  for (int64_t d = 0; d < kDepth; ++d) {
    std::copy_n(b + d * stride + whole, columns - whole, row);
    sum = multiply_add(factors[d], load_lanes(row), sum);
  }
  store_lanes(last, sum);
  std::copy_n(last, columns - whole, sums + whole);
}

template <typename S, typename B>
void sum_tile(const ThinTile<S, B>& t) {
  int64_t k = 0;
  for (; k + kDepthAtOnce <= t.k; k += kDepthAtOnce)
    for (int64_t i = 0; i < t.rows; ++i)
      add_rows<kDepthAtOnce>(t.a + i * t.k + k, t.b + k * t.b_stride, t.b_stride, t.columns,
                             t.sums + i * t.columns);
  for (; k < t.k; ++k)
    for (int64_t i = 0; i < t.rows; ++i)
      add_rows<1>(t.a + i * t.k + k, t.b + k * t.b_stride, t.b_stride, t.columns,
                  t.sums + i * t.columns);
}

}  // namespace

void thin_floats(const ThinTile<float, float>& tile) { sum_tile(tile); }
void thin_halves(const ThinTile<float, Bf16>& tile) { sum_tile(tile); }
void thin_doubles(const ThinTile<double, double>& tile) { sum_tile(tile); }

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

void add_thin_tile(const ThinTile<float, float>& tile) { TESSERA_VERSION(thin_floats)(tile); }
void add_thin_tile(const ThinTile<float, Bf16>& tile) { TESSERA_VERSION(thin_halves)(tile); }
void add_thin_tile(const ThinTile<double, double>& tile) { TESSERA_VERSION(thin_doubles)(tile); }

}  // namespace tessera
#endif
