// SPDX-License-Identifier: Apache-2.0
// The fastest that a machine was seen to multiply, kept between runs in the user's cache folder, so
// that MFU is a share of the same peak in each. Best effort: where the folder cannot be read or
// written, nothing is kept.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tessera {

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

}  // namespace tessera
