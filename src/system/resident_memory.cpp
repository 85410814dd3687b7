// SPDX-License-Identifier: Apache-2.0
#include "system/resident_memory.h"

#include <sys/resource.h>

#include "core/error.h"
#include "core/short_text.h"

namespace tessera {

int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

void require_memory(int64_t planned_bytes, double installed_bytes) {
  if (installed_bytes <= 0 || static_cast<double>(planned_bytes) <= installed_bytes) return;
  throw user_error("this machine has {} of memory; the plan needs {}",
                   short_bytes(static_cast<int64_t>(installed_bytes)), short_bytes(planned_bytes))
      .help(
          "use fewer ranks, a smaller batch or model, more microbatches or plan.recompute; "
          "`tessera "
          "compile` shows where the bytes go");
}

}  // namespace tessera
