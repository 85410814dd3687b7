// SPDX-License-Identifier: Apache-2.0
// The peak that the MFU of a run is a share of: the machine's, measured once and kept for all runs.
// It does not move while a run goes on. A run may beat what was measured: then what is kept rises,
// for the runs to come.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tessera {

// The fastest that a machine was seen to multiply, kept between runs in the user's cache folder, so
// that MFU is a share of the same peak in each. Best effort: where the folder cannot be read or
// written, nothing is kept.
// $XDG_CACHE_HOME/tessera or ~/.cache/tessera; empty where neither is known.
std::filesystem::path user_cache_folder();

class PeakCache {
 public:
  // An empty folder keeps nothing.
  explicit PeakCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // In flops per second. `machine` is any text that names it: CPU and threads.
  std::optional<double> find(const std::string& machine) const;
  // Keeps the larger of this and what is kept.
  void keep(const std::string& machine, double flops_per_second) const;

 private:
  std::filesystem::path file_of(const std::string& machine) const;

  std::filesystem::path folder_;
};

class RunPeak {
 public:
  static constexpr int kMeasurements = 3;  // the best of them counts

  // `machine` is what the peak is of; `measure` gives flops per second.
  RunPeak(PeakCache cache, std::string machine, std::function<double()> measure)
      : cache_(std::move(cache)), machine_(std::move(machine)), measure_(std::move(measure)) {}

  // Kept, or else measured at the first call.
  double flops_per_second() {
    if (peak_ > 0) return peak_;
    if (const auto kept = cache_.find(machine_)) return peak_ = *kept;
    peak_ = best_of_measurements();
    cache_.keep(machine_, peak_);
    return peak_;
  }

  // After a run: what is kept for the next one, where this one was faster than its peak.
  double raise_above(double reached) {
    const double raised = std::max(reached, best_of_measurements());
    cache_.keep(machine_, raised);
    return raised;
  }

 private:
  double best_of_measurements() const {
    double best = 0;
    for (int i = 0; i < kMeasurements; ++i) best = std::max(best, measure_());
    return best;
  }

  PeakCache cache_;
  std::string machine_;
  std::function<double()> measure_;
  double peak_ = 0;
};

}  // namespace tessera
