// SPDX-License-Identifier: Apache-2.0
// NVML's header is not needed: the three functions have had these types since NVML 8, and 0 is
// success.
#include "exec/cuda/energy_counter.h"

#include <dlfcn.h>

namespace tessera {

EnergyCounter::EnergyCounter(const std::string& address, const char* library) {
  // Stays loaded until the process ends.
  void* nvml = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!nvml) return;
  const auto start = reinterpret_cast<int (*)()>(dlsym(nvml, "nvmlInit_v2"));
  const auto find = reinterpret_cast<int (*)(const char*, void**)>(
      dlsym(nvml, "nvmlDeviceGetHandleByPciBusId_v2"));
  const auto read = reinterpret_cast<Read>(dlsym(nvml, "nvmlDeviceGetTotalEnergyConsumption"));
  if (start && find && read && start() == 0 && find(address.c_str(), &gpu_) == 0) read_ = read;
}

std::optional<double> EnergyCounter::joules() const {
  unsigned long long millijoules = 0;
  if (!read_ || read_(gpu_, &millijoules) != 0) return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace tessera
