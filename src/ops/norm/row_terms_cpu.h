// SPDX-License-Identifier: Apache-2.0
// The terms of the sums that norms take along a row, for sum_terms: V = float, double or their
// lanes.
#pragma once

#include "exec/cpu/simd.h"

namespace tessera {

struct Plain {
  template <typename V>
  TESSERA_INLINE V operator()(const V& x) const {
    return x;
  }
};

template <typename A>
struct SquaredDistance {
  A from;
  template <typename V>
  TESSERA_INLINE V operator()(const V& x) const {
    const V distance = x - from;
    return distance * distance;
  }
};

struct Product {
  template <typename V>
  TESSERA_INLINE V operator()(const V& x, const V& y) const {
    return x * y;
  }
};

// dy * gain * (x - from)
template <typename A>
struct GainedProduct {
  A from;
  template <typename V>
  TESSERA_INLINE V operator()(const V& dy, const V& gain, const V& x) const {
    return dy * gain * (x - from);
  }
};

}  // namespace tessera
