// SPDX-License-Identifier: Apache-2.0
// The largest |x| on the CPU. NaNs are ignored.
#pragma once

#include <atomic>
#include <cmath>

#include "exec/cpu/cpu_call.h"
#include "ops/row_ranges.h"

namespace tessera {

template <typename T>
float largest_entry(const T* x, int64_t count, ThreadPool& threads) {
  std::atomic<float> largest = 0;  // the same in whatever order pieces come
  threads.run_ranges(count, kPieceElements, [&](int64_t begin, int64_t end, int) {
    float own = 0;
    for (int64_t i = begin; i < end; ++i)
      own = std::max(own, std::abs(static_cast<float>(load(x[i]))));
    float seen = largest.load();
    while (own > seen && !largest.compare_exchange_weak(seen, own)) {
    }
  });
  return largest;
}

}  // namespace tessera
