// SPDX-License-Identifier: Apache-2.0
#include "system/this_machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace tessera {

std::string cpu_model_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

int cores_online() { return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))); }

double installed_memory_bytes() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<double>(pages) * static_cast<double>(page_bytes)
                                     : 0;
}

int64_t available_memory_bytes() {
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  for (int64_t kilobytes = 0; info >> name >> kilobytes >> unit;)
    if (name == "MemAvailable:") return kilobytes * 1024;
  return static_cast<int64_t>(installed_memory_bytes());
}

}  // namespace tessera
