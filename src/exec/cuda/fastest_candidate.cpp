// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/fastest_candidate.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tessera {
namespace {

constexpr int kFinalists = 4, kRounds = 3, kMostRuns = 20;
constexpr double kRoundSeconds = 1e-3;  // of a finalist's runs, which hide the time to enqueue one
// Candidates that take this long hold the GPU at its power limit, where the fastest may be another
// one than on a cool GPU. The limit shows after some hundredths of a second of the same work.
constexpr double kHotSeconds = 3e-4, kHeatingSeconds = 0.05, kHotRoundSeconds = 0.025;
constexpr double kLongSeconds = 0.02;  // a slower candidate is timed once
constexpr double kClearlyFaster = 0.99;

class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {}

  template <typename Run>
  double seconds(int runs, Run&& run) {
    record(begin_);
    for (int i = 0; i < runs; ++i) run();
    record(end_);
    end_.wait();
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "read a time");
    return static_cast<double>(milliseconds) * 1e-3 / runs;
  }

 private:
  void record(const DeviceEvent& event) const {
    check_cuda(cudaEventRecord(event.get(), stream_), "record an event");
  }
  cudaStream_t stream_;
  DeviceEvent begin_{cudaEventDefault}, end_{cudaEventDefault};
};

struct Timed {
  int index;
  double seconds;
};
bool is_faster(const Timed& a, const Timed& b) { return a.seconds < b.seconds; }

// More accurate than the single run by which the candidate was timed so far.
template <typename Run>
double steady_seconds(const Timed& candidate, Stopwatch& stopwatch, Run&& run) {
  const auto runs = [&](double seconds) {
    return std::max(2, static_cast<int>(seconds / candidate.seconds));
  };
  if (candidate.seconds > kLongSeconds) return candidate.seconds;
  if (candidate.seconds > kHotSeconds) {
    stopwatch.seconds(runs(kHeatingSeconds), run);
    return stopwatch.seconds(runs(kHotRoundSeconds), run);
  }
  double least = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round)
    least = std::min(least, stopwatch.seconds(std::min(runs(kRoundSeconds), kMostRuns), run));
  return least;
}

}  // namespace

int fastest_candidate(int candidates, cudaStream_t stream, const std::function<bool(int)>& run) {
  Stopwatch stopwatch(stream);
  std::vector<Timed> able;
  for (int i = 0; i < candidates; ++i)
    if (run(i)) able.push_back({i, stopwatch.seconds(1, [&] { run(i); })});
  if (able.empty()) return kNoCandidate;
  std::stable_sort(able.begin() + 1, able.end(), is_faster);
  able.resize(std::min<size_t>(able.size(), 1 + kFinalists));
  for (Timed& candidate : able)
    candidate.seconds = steady_seconds(candidate, stopwatch, [&] { run(candidate.index); });
  const Timed& best = *std::min_element(able.begin(), able.end(), is_faster);
  return best.seconds < kClearlyFaster * able.front().seconds ? best.index : able.front().index;
}

}  // namespace tessera
