// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/matmul_rate.h"

#include <algorithm>
#include <ctime>
#include <vector>

#include "core/error.h"
#include "exec/cpu/arena.h"
#include "exec/cpu/gemm.h"

namespace tessera {
namespace {

constexpr int64_t kSide = 1024;
constexpr int64_t kMatrixBytes = kSide * kSide * static_cast<int64_t>(sizeof(float));

// That this thread has had of a core.
double core_seconds() {
  timespec now{};
  TESSERA_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Each thread multiplies an even share of the rows by itself.
class RateTimer {
 public:
  explicit RateTimer(int threads) : threads_(threads) {
    for (const Arena* matrix : {&a_, &b_}) {
      auto* values = reinterpret_cast<float*>(matrix->data());
      // Any ordinary numbers do; zeros and denormals might not take the usual time.
      for (int64_t i = 0; i < kSide * kSide; ++i)
        values[i] = static_cast<float>(i % 97) / 97.0f - 0.5f;
    }
    for (int i = 0; i < threads; ++i)
      workspaces_.emplace_back(gemm_workspace_bytes(kSide, kSide, kSide, sizeof(float), 1));
  }

  // Of one product, that of the slowest thread. Other work on the machine, which takes cores away
  // from the threads, does not count.
  double core_seconds_of_product() {
    const int64_t parts = threads_.threads();
    std::vector<double> seconds(static_cast<size_t>(parts));
    threads_.run(parts, [&](int64_t part, int) {
      const double begin = core_seconds();
      multiply(kSide * part / parts, kSide * (part + 1) / parts,
               workspaces_[static_cast<size_t>(part)]);
      seconds[static_cast<size_t>(part)] = core_seconds() - begin;
    });
    return *std::max_element(seconds.begin(), seconds.end());
  }

 private:
  void multiply(int64_t first_row, int64_t last_row, const Arena& workspace) {
    if (first_row == last_row) return;
    ThreadPool alone(1);
    const auto at = [&](const Arena& matrix) {
      return reinterpret_cast<float*>(matrix.data()) + first_row * kSide;
    };
    gemm(Gemm<float, float, float>{.m = last_row - first_row,
                                   .n = kSide,
                                   .k = kSide,
                                   .a = {at(a_), kSide, false},
                                   .b = {reinterpret_cast<float*>(b_.data()), kSide, false},
                                   .c = at(c_),
                                   .c_stride = kSide},
         alone, {workspace.data(), static_cast<size_t>(workspace.bytes())});
  }

  Arena a_{kMatrixBytes}, b_{kMatrixBytes}, c_{kMatrixBytes};
  std::vector<Arena> workspaces_;  // by part
  ThreadPool threads_;
};

}  // namespace

// In time of cores, so that a busy machine has the peak of an idle one; the best of several.
double measure_matmul_rate(int threads) {
  constexpr double kTotalSeconds = 0.05;
  constexpr int kMostCalls = 8;
  RateTimer timer(threads);
  double spent = 0, best = 0;
  for (int call = 0; call < kMostCalls && (call == 0 || spent + best < kTotalSeconds); ++call) {
    const double seconds = timer.core_seconds_of_product();
    spent += seconds;
    best = call == 0 ? seconds : std::min(best, seconds);
  }
  return 2.0 * kSide * kSide * kSide / best;
}

}  // namespace tessera
