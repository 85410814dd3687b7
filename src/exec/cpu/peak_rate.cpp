// SPDX-License-Identifier: Apache-2.0
#define HWY_TARGET_INCLUDE "exec/cpu/peak_rate.cpp"
#include "exec/cpu/peak_rate.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// s = s x + y stays near y / (1 - x): neither grows nor becomes denormal. Two units with a latency
// of four or five cycles need ten chains; with both factors, twelve fit the 16 registers of the
// older sets.
float multiply_add_chains(int64_t rounds, float x, float y, double* flops) {
  constexpr int kChains = 12;
  const Tag<float> tag;
  const Vector<float> xs = hn::Set(tag, x), ys = hn::Set(tag, y);
  Vector<float> s[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) s[i] = hn::Mul(ys, hn::Set(tag, static_cast<float>(i)));
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) s[i] = hn::MulAdd(s[i], xs, ys);
  }
  Vector<float> sum = s[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, s[i]);
  *flops = static_cast<double>(2 * kChains * kVectorLanes<float> * rounds);
  return hn::GetLane(sum);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

// The best of several, because a peak is asked for.
double measure_peak_rate(ThreadPool& threads) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRounds = 400000;
  constexpr int kCalls = 8;
  const int workers = threads.threads();
  const auto chains = TESSERA_VERSION(multiply_add_chains);
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
#endif
