// SPDX-License-Identifier: Apache-2.0
// The sum of squared differences of a piece, shared by squared_loss and its gradient.
#pragma once

#include "ops/fixed_order_sums_cpu.h"

namespace tessera {

struct SquaredDifference {
  template <typename V>
  TESSERA_INLINE V operator()(const V& x, const V& y) const {
    const V difference = x - y;
    return difference * difference;
  }
};

template <typename T>
TESSERA_INLINE double squared_differences(const T* prediction, const T* target, int64_t count) {
  return sum_terms<double>(count, SquaredDifference{}, prediction, target);
}

}  // namespace tessera
