// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/peak_rate.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "exec/cpu/simd.h"

namespace tessera {
namespace {

// Two units with a latency of four or five cycles need ten chains; with both factors they fit the
// 16 registers of the older sets.
constexpr int kChains = 12;

// s = s x + y stays near y / (1 - x): neither grows nor becomes denormal.
template <typename V>
TESSERA_INLINE float run_chains(int64_t rounds, float x, float y) {
  V s[kChains];
  const V xs = x - V{}, ys = y - V{};
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) s[i] = ys * static_cast<float>(i);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) s[i] = s[i] * xs + ys;
  }
  V sum = s[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum += s[i];
  return sum[0];
}

#define TESSERA_CHAINS(version, bytes, vectors)                           \
  version float chains(int64_t rounds, float x, float y, double* flops) { \
    typedef float V __attribute__((vector_size(bytes)));                  \
    constexpr int64_t kFloats = bytes / 4;                                \
    *flops = static_cast<double>(2 * kChains * kFloats * rounds);         \
    return run_chains<V>(rounds, x, y);                                   \
  }

TESSERA_VERSIONS(TESSERA_CHAINS)
#undef TESSERA_CHAINS

}  // namespace

// The best of several, because a peak is asked for.
double measure_peak_rate(ThreadPool& threads) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRounds = 400000;
  constexpr int kCalls = 8;
  const int workers = threads.threads();
  struct alignas(64) Done {
    double flops = 0;
    float sum = 0;
  };
  std::vector<Done> done(static_cast<size_t>(workers));
  double best = 0;
  for (int call = 0; call < kCalls; ++call) {
    const auto begin = Clock::now();
    threads.run(workers, [&](int64_t task, int) {
      Done& mine = done[static_cast<size_t>(task)];
      mine.sum += chains(kRounds, 0.5f, 1.0f, &mine.flops);
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    double flops = 0;
    for (const Done& each : done) flops += each.flops;
    best = std::max(best, flops / seconds);
  }
  return best;
}

}  // namespace tessera
