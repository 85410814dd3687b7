// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/matmul_rate.h"

#include <algorithm>

#include "exec/cpu/openblas_rate.h"

namespace tessera {

// Each thread calls OpenBLAS by itself, so no thread of OpenBLAS's own is left spinning. In time of
// cores, so that a busy machine has the peak of an idle one; the best of several.
double measure_matmul_rate(int threads) {
  static constexpr MatmulShape kShape{.m = 1024, .n = 1024, .k = 1024};
  constexpr double kTotalSeconds = 0.05;
  constexpr int kMostCalls = 8;
  OpenblasTimer timer({&kShape, 1}, threads);
  double spent = 0, best = 0;
  for (int call = 0; call < kMostCalls && (call == 0 || spent + best < kTotalSeconds); ++call) {
    const double seconds = timer.split_core_seconds(kShape);
    spent += seconds;
    best = call == 0 ? seconds : std::min(best, seconds);
  }
  return kShape.flops() / best;
}

}  // namespace tessera
