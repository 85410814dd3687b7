// SPDX-License-Identifier: Apache-2.0
// A step as it was simulated, with what pictures of it need.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "studio/simulated_islands.h"
#include "studio/simulated_step.h"

namespace tessera {

class AskedSimulation {
 public:
  // `config` is that of one island; `options` as simulated, without slices.
  AskedSimulation(const Config& config, const Cluster& cluster, StepOptions options,
                  std::vector<std::string> warnings);
  void add_islands(const Config& all, const std::vector<int64_t>& every);

  std::string json() const;
  std::string title() const;
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::string picture(const std::string& name);
  std::string trace();

 private:
  // Simulated once more, with every kernel and transfer, where only the figures were asked for.
  const SimulatedStep& with_slices();

  mutable std::mutex mutex_;  // calls come without the GIL
  StepOptions options_;
  std::unique_ptr<SimulatedStep> step_;  // stays where it is: slices point into it
  std::optional<SimulatedIslands> islands_;
  std::vector<std::string> warnings_;
};

}  // namespace tessera
