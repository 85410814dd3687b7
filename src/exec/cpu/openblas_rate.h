// SPDX-License-Identifier: Apache-2.0
// How long OpenBLAS takes for one fp32 matmul, measured. The library is looked for when a timer is
// made: nothing but these measurements needs it. Its thread count is process-wide: it is raised
// only while a threaded call is timed, and is 1 again afterwards.
#pragma once

#include <cstdint>
#include <span>

#include "exec/cpu/arena.h"
#include "exec/cpu/thread_pool.h"
#include "exec/device.h"

namespace tessera {

// The functions of OpenBLAS that are used here.
struct Openblas {
  Openblas();  // a UserError that says what to install, where it is missing

  void (*set_num_threads)(int threads) = nullptr;
  int (*get_num_threads)() = nullptr;
  // As cblas_sgemm: order, transposes, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc.
  void (*sgemm)(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                float*, int) = nullptr;
};

// Holds operands large enough for all the shapes given, made and touched once.
class OpenblasTimer {
 public:
  OpenblasTimer(std::span<const MatmulShape> shapes, int threads);

  // Seconds of one matmul, the mean of as many calls as fill `budget_seconds`, at least one.
  double threaded_seconds(const MatmulShape& shape, double budget_seconds);
  // The same with an even split of C over the threads, each calling OpenBLAS by itself.
  double split_seconds(const MatmulShape& shape, double budget_seconds);
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

  Openblas openblas_;
  int64_t b_offset_ = 0, c_offset_ = 0;  // in elements; A lies first
  Arena operands_;
  ThreadPool threads_;
};

}  // namespace tessera
