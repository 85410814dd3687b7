// SPDX-License-Identifier: Apache-2.0
// How long OpenBLAS takes for one fp32 matmul, measured. OpenBLAS's thread count is process-wide:
// it is raised only while a threaded call is timed, and is 1 again afterwards.
#pragma once

#include <cstdint>
#include <span>

#include "exec/cpu/arena.h"
#include "exec/cpu/thread_pool.h"

namespace tessera {

// C[m, n] = A[m, k] B[k, n], row after row; a transposed operand lies in memory as its transpose.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;

  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  bool operator==(const MatmulShape&) const = default;
};

// Holds operands large enough for all the shapes given, made and touched once.
class OpenblasTimer {
 public:
  OpenblasTimer(std::span<const MatmulShape> shapes, int threads);

  // Seconds of one matmul, the mean of as many calls as fill `budget_seconds`, at least one.
  double threaded_seconds(const MatmulShape& shape, double budget_seconds);
  // The same with an even split of C over the threads, each calling OpenBLAS by itself.
  double split_seconds(const MatmulShape& shape, double budget_seconds);
  // The same once, in time of a core: that of the slowest thread. Other work on the machine, which
  // takes cores away from the threads, does not count.
  double split_core_seconds(const MatmulShape& shape);
  // The same with one whole matmul per thread at a time: what each costs when there are many.
  double concurrent_seconds(const MatmulShape& shape, double budget_seconds);

  // C of the last threaded or split matmul, which may be overwritten.
  std::span<float> product(const MatmulShape& shape) const {
    return {matrix(c_offset_), static_cast<size_t>(shape.m * shape.n)};
  }

  // OpenBLAS's own threads spin for a while after a threaded call; returns when they sleep.
  static void settle();

 private:
  float* matrix(int64_t offset) const {
    return reinterpret_cast<float*>(operands_.data()) + offset;
  }

  int64_t b_offset_ = 0, c_offset_ = 0;  // in elements; A lies first
  Arena operands_;
  ThreadPool threads_;
};

}  // namespace tessera
