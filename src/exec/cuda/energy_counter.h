// SPDX-License-Identifier: Apache-2.0
// The energy counter of a GPU, read through NVML. The library is looked for when the program runs:
// a binary works without it.
#pragma once

#include <optional>
#include <string>

namespace tessera {

class EnergyCounter {
 public:
  // `address`: the GPU's on the bus, as "0000:1b:00.0".
  explicit EnergyCounter(const std::string& address, const char* library = "libnvidia-ml.so.1");

  // Drawn by the GPU since its driver was loaded; none where it has no counter or NVML is missing.
  // The driver updates it some ten times a second.
  std::optional<double> joules() const;

 private:
  using Read = int (*)(void* gpu, unsigned long long* millijoules);
  Read read_ = nullptr;
  void* gpu_ = nullptr;
};

}  // namespace tessera
