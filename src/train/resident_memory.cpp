// SPDX-License-Identifier: Apache-2.0
#include "train/resident_memory.h"

#include <sys/resource.h>

namespace tessera {

int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace tessera
